"""Run one step of a plan, with the events around it."""

from __future__ import annotations

from collections.abc import Callable

from deployer.clock import Clock
from deployer.events import Emit, Event
from deployer.targets.base import Step


def run(step: Step, act: Callable[[], str | None], *, clock: Clock, emit: Emit) -> str | None:
    """Do it and return what it made (an id), or nothing. A `keep` is not run at all."""
    if step.action == "keep":
        return None
    emit(Event("step.start", {"action": step.action, "kind": step.kind, "name": step.name, "reason": step.reason}))
    start = clock.monotonic()
    made = act()
    seconds = round(clock.monotonic() - start, 3)
    emit(
        Event(
            "step.done",
            {"action": step.action, "kind": step.kind, "name": step.name, "id": made, "seconds": seconds},
        )
    )
    return made
