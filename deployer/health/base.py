"""One rung of the health ladder, as every probe file implements it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from deployer.errors import DeployerError

ProbeState = Literal["waiting", "passed", "warned", "failed", "skipped"]


@dataclass(frozen=True)
class Observation:
    """What one look saw. error: the typed error to raise when a deciding rung failed."""

    state: ProbeState
    text: str
    error: DeployerError | None = None


class Probe(Protocol):
    """name: the rung. deadline_seconds: how long it may stay `waiting`. decides: a failure ends the climb."""

    @property
    def name(self) -> str: ...
    @property
    def deadline_seconds(self) -> float: ...
    @property
    def decides(self) -> bool: ...
    def check(self) -> Observation: ...
