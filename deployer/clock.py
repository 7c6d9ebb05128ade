"""Time is passed in, never read inside logic; tests pass a clock that moves when it is slept on."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """now: seconds since the epoch. monotonic: seconds, never backwards. sleep: waits that many seconds."""

    def now(self) -> float: ...
    def monotonic(self) -> float: ...
    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Block this thread for that many seconds."""
        time.sleep(seconds)
