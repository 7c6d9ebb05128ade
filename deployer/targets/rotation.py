"""After a new API key: the engine is loaded again with it, and the old one opens nothing any more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from deployer.clock import Clock
from deployer.errors import NotHealthyError
from deployer.events import Emit, Event
from deployer.health.agent import AgentPhases
from deployer.health.base import Probe
from deployer.health.client import EngineClient, Unauthorized
from deployer.health.completion import RealCompletion
from deployer.health.console import ConsoleReader
from deployer.health.engine import EngineHealth
from deployer.health.ladder import climb
from deployer.health.models import ModelListed
from deployer.health.phases import latest

#: What a load of the weights may take at most, seconds: 100 GB from a gp3 volume at half its baseline rate.
LOAD_SECONDS = 1800.0


@dataclass(frozen=True)
class Rotated:
    """seconds: how long the endpoint was away, 0 when the stack does not run."""

    stack: str
    seconds: float


class LoadsAgain(EngineHealth):
    """Like the rung of a fresh stack, but nothing before it has waited for the weights."""

    deadline_seconds = LOAD_SECONDS


def foretell(console: str, emit: Emit) -> None:
    """Say before it begins how long the endpoint will be away: as long as the last load took."""
    took = sum(line.seconds or 0.0 for line in latest(ConsoleReader().read(console)) if line.phase == "engine")
    known = f"the last time that took {took:.0f} s" if took else "that takes as long as after a start"
    emit(Event("warning", {"message": f"the endpoint is away while the engine loads again: {known}"}))


def prove(
    *,
    instance: Probe,
    console: Callable[[], str],
    base_url: str,
    alias: str,
    certificate: str | None,
    old: str,
    new: str,
    clock: Clock,
    emit: Emit,
    keep_alive: Callable[[], None] = lambda: None,
) -> None:
    """Until the new key gets a completion and the old one is refused. Raises BootstrapError or NotHealthyError."""
    fresh = EngineClient(lambda: base_url, new, certificate=certificate)
    stale = EngineClient(lambda: base_url, old, certificate=certificate)
    probes: tuple[Probe, ...] = (
        instance,
        AgentPhases(console, emit),
        LoadsAgain(fresh),
        ModelListed(fresh, alias),
        RealCompletion(fresh, emit, alias=alias),
    )
    try:
        climb(probes, clock=clock, emit=emit, keep_alive=keep_alive)
        if not isinstance(stale.models(), Unauthorized):
            raise NotHealthyError("the engine still takes the old key", hint="`deployer key rotate` again")
    finally:
        fresh.close()
        stale.close()
