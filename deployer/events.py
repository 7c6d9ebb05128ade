"""An Event is one thing that happened. Logic emits events, views render them; events never carry a secret."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True)
class Event:
    """name: dotted, e.g. `step.done`. fields: JSON values only; the JSON view prints {"event": name, **fields}.

    The names in use and their fields:
      decision        name, value, reason, source
      step.start      action, kind, name, reason           (one Step of the plan is being applied)
      step.done       action, kind, name, id, seconds
      attempt         instance_type, zone, market, outcome, aws_code, message, request_id
      phase           phase, state, percent, bytes, total_bytes, seconds, code, message, log (from the agent's console)
      probe           rung, state (waiting|passed|warned|failed|skipped), observation, seconds
      waiting         what, observation, seconds, deadline_seconds
      warning         message, hint
      endpoint        url, alias, expose, key_command
      image.line      line                                 (of the container builder)
      image.repository  uri, made
      completion      text, predicted_per_second, draft_n, draft_n_accepted
      bench.case      name, kind, number, of                (one case of a benchmark begins)
      up.summary      stack, changes, url, seconds, instance_id
      sweep.summary   region, deleted, kept, failed (messages)
      spent           stack, priced (false: its place has no prices), and the fields of decide.money.Spent
      down.summary    stack (null: there was none at all), deleted, remaining, seconds
      rehearsal.*     see deployer/rehearsal
    """

    name: str
    fields: Mapping[str, Json] = field(default_factory=dict)


Emit = Callable[[Event], None]


def ignore(_event: Event) -> None:
    """An Emit that drops everything."""
