"""A clock that moves only when it is slept on."""

from __future__ import annotations

from collections.abc import Callable


class FakeClock:
    """Implements deployer.clock.Clock. on_sleep runs after each move, e.g. to change what is being watched."""

    def __init__(self, start: float = 1_800_000_000.0, on_sleep: Callable[[float], None] | None = None) -> None:
        self._start = start
        self.elapsed = 0.0
        self.sleeps: list[float] = []
        self.on_sleep = on_sleep

    def now(self) -> float:
        return self._start + self.elapsed

    def monotonic(self) -> float:
        return self.elapsed

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.sleeps.append(seconds)
        self.elapsed += seconds
        if self.on_sleep is not None:
            self.on_sleep(self.elapsed)
