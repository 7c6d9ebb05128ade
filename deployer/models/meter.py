"""How far a push is, told as events at a bounded rate."""

from __future__ import annotations

import threading
from collections import deque

from deployer.clock import Clock
from deployer.events import Emit, Event

_EVERY_SECONDS = 0.5
#: The rate shown is that of the last so many seconds.
_WINDOW_SECONDS = 15.0


class Meter:
    """Counts bytes read from the source, from many threads. total, there: bytes, and those done before."""

    def __init__(self, total: int, there: int, clock: Clock, emit: Emit) -> None:
        self._total = total
        self._clock = clock
        self._emit = emit
        self._lock = threading.Lock()
        self._there = there
        self.read = 0
        self.started = clock.monotonic()
        self._seen: deque[tuple[float, int]] = deque([(self.started, 0)])
        self._last = self.started

    def add(self, count: int) -> None:
        """So many bytes more; emits `push.progress` when the last one is long enough ago."""
        with self._lock:
            self.read += count
            now = self._clock.monotonic()
            if now - self._last >= _EVERY_SECONDS:
                self._say(now)

    def finish(self) -> None:
        """Say where it stands now, whenever the last event was."""
        with self._lock:
            self._say(self._clock.monotonic())

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return self._clock.monotonic() - self.started

    def _say(self, now: float) -> None:
        self._last = now
        self._seen.append((now, self.read))
        while len(self._seen) > 2 and now - self._seen[0][0] > _WINDOW_SECONDS:
            self._seen.popleft()
        since, before = self._seen[0]
        rate = (self.read - before) / (now - since) if now > since else 0.0
        done = min(self._there + self.read, self._total)
        self._emit(
            Event(
                "push.progress",
                {
                    "bytes": done,
                    "total_bytes": self._total,
                    "percent": round(100 * done / self._total, 1) if self._total else 100.0,
                    "bytes_per_second": round(rate),
                    "left_seconds": round((self._total - done) / rate, 1) if rate else None,
                },
            )
        )
