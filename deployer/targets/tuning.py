"""A tuning of a running stack, wherever it runs: asked for, followed on the console, proven healthy afterwards."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Protocol

from deployer.agent.tuned import CANCEL, REQUEST
from deployer.agent.tuning import TUNE_VERSION
from deployer.clock import Clock
from deployer.engine.tuned import TuneReport
from deployer.errors import DeployerError, NotHealthyError
from deployer.events import Emit, Event
from deployer.health.agent import AgentPhases
from deployer.health.base import Observation, Probe
from deployer.health.client import EngineClient
from deployer.health.completion import RealCompletion
from deployer.health.engine import EngineHealth
from deployer.health.ladder import climb
from deployer.health.models import ModelListed

#: How long the agent may take until its console says that it began: it looks five times a second, but EC2 shows a
#: console some seconds late.
BEGIN_SECONDS = 120.0


@dataclass(frozen=True)
class Tuned:
    """seconds: how long the endpoint was away."""

    stack: str
    report: TuneReport
    seconds: float


class Mailbox(Protocol):
    """Where the agent looks for requests."""

    def put(self, name: str, text: str) -> None: ...


class TuningDone:
    """The agent has measured what was asked for under this id, and is ready again."""

    name = "tuning"
    decides = True

    def __init__(self, agent: AgentPhases, id: str) -> None:
        self._agent = agent
        self._id = id
        self._begun = False

    @property
    def deadline_seconds(self) -> float:
        """Short until it has begun."""
        return self._agent.deadline_seconds if self._begun else BEGIN_SECONDS

    def check(self) -> Observation:
        seen = self._agent.check()
        report = self._agent.facts.tuning
        ours = report is not None and report.id == self._id
        self._begun = self._begun or ours or self._agent.tuning
        if seen.state == "failed" or (ours and seen.state == "passed"):
            return seen
        if self._begun:
            return Observation("waiting", seen.text)
        hint = "an agent of an older deployer does not know how: `deployer down`, then `up`, makes a new machine"
        error = NotHealthyError("the agent does not begin", where="tuning", hint=hint)
        return Observation("waiting", "the agent has not begun", error)


def tune(
    mailbox: Mailbox,
    *,
    instance: Probe,
    console: Callable[[], str],
    base_url: str,
    alias: str,
    certificate: str | None,
    api_key: str,
    measure_only: bool,
    clock: Clock,
    emit: Emit,
    keep_alive: Callable[[], None] = lambda: None,
) -> TuneReport:
    """Until the engine serves again. Raises BootstrapError or NotHealthyError; Ctrl-C takes the request back."""
    id = secrets.token_hex(6)
    speaking = False
    agent = AgentPhases(console, lambda event: emit(event) if speaking else None)
    # What the console says already is history.
    agent.check()
    speaking = True
    emit(Event("warning", {"message": "the endpoint is away while the machine measures itself: some minutes"}))
    client = EngineClient(lambda: base_url, api_key, certificate=certificate)
    probes: tuple[Probe, ...] = (
        instance,
        TuningDone(agent, id),
        EngineHealth(client),
        ModelListed(client, alias),
        RealCompletion(client, emit, alias=alias),
    )
    mailbox.put(REQUEST, json.dumps({"v": TUNE_VERSION, "id": id, "keep": measure_only}))
    try:
        with _taken_back(mailbox):
            climb(probes, clock=clock, emit=emit, keep_alive=keep_alive)
    finally:
        client.close()
    report = agent.facts.tuning
    assert report is not None
    return report


@contextmanager
def _taken_back(mailbox: Mailbox) -> Iterator[None]:
    """Whoever leaves early leaves the old choice."""
    try:
        yield
    except BaseException:
        with suppress(DeployerError, OSError):
            mailbox.put(CANCEL, "")
        raise
