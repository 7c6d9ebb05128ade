"""Does something at a time of the machine's clock, once, unless it is called off."""

from __future__ import annotations

import threading
from collections.abc import Callable

from deployer.clock import Clock

#: How often the clock is looked at, seconds; it may be one that jumps.
_POLL = 0.2


class Alarm:
    """At most one thing is pending; setting another replaces it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._cancelled = threading.Event()

    def set(self, due: float, act: Callable[[], None]) -> None:
        """Call act in a thread of its own when the clock shows `due` (seconds since the epoch) or more."""
        cancelled = threading.Event()
        with self._lock:
            self._cancelled.set()
            self._cancelled = cancelled

        def wait() -> None:
            while self._clock.now() < due:
                if cancelled.wait(_POLL):
                    return
            if not cancelled.is_set():
                act()

        threading.Thread(target=wait, name="alarm", daemon=True).start()

    def cancel(self) -> None:
        """Forget what is pending."""
        with self._lock:
            self._cancelled.set()
