"""Health over many looks: it holds through one bad look, and one that comes and goes is called flapping."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Literal

#: So many bad looks in a row end health: a single one may be a busy network.
BAD_LOOKS = 2
#: So many changes between good and bad looks within WINDOW_SECONDS are flapping.
FLAPS = 3
WINDOW_SECONDS = 600.0

State = Literal["healthy", "unhealthy", "flapping"]


@dataclass(frozen=True)
class Health:
    """since: when `state` began, seconds since the epoch. changes: between good and bad looks, within the window."""

    state: State
    since: float
    changes: int


class Latch:
    """Takes one look after another."""

    def __init__(self) -> None:
        self._bad = 0
        self._last: bool | None = None
        self._changes: deque[float] = deque()
        self._health: Health | None = None

    def take(self, good: bool, now: float) -> Health:
        """What this look makes of the health. now: seconds since the epoch, never going back."""
        if self._last is not None and good != self._last:
            self._changes.append(now)
        while self._changes and now - self._changes[0] > WINDOW_SECONDS:
            self._changes.popleft()
        self._last = good
        self._bad = 0 if good else self._bad + 1
        state = self._judge(good)
        since = self._health.since if self._health is not None and self._health.state == state else now
        self._health = Health(state, since, len(self._changes))
        return self._health

    def _judge(self, good: bool) -> State:
        if len(self._changes) >= FLAPS:
            return "flapping"
        if good:
            return "healthy"
        held = self._health is not None and self._health.state != "unhealthy" and self._bad < BAD_LOOKS
        return "healthy" if held else "unhealthy"
