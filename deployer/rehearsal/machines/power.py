"""shutdown(8) of one machine: now, in so many minutes, cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from deployer.clock import Clock

#: How often the clock is looked at, seconds; it may be one that jumps.
_POLL = 0.2


class PowerSwitch:
    """act: called in a thread of its own with `off` or `again`."""

    def __init__(self, act: Callable[[str], None], clock: Clock) -> None:
        self._act = act
        self._clock = clock
        self._lock = threading.Lock()
        self._cancel: threading.Event | None = None

    def shutdown(self, arguments: Sequence[str]) -> tuple[int, str]:
        """`[-h|-P|-H|-r] [now|+MINUTES]` or `-c`; exit status and what is printed."""
        options = {word for word in arguments if word.startswith("-")}
        times = [word for word in arguments if not word.startswith("-")]
        if options & {"-c", "--cancel"}:
            self.cancel()
            return 0, ""
        when = times[0] if times else "+1"
        minutes = when.removeprefix("+")
        if when != "now" and not minutes.isdigit():
            return 1, f"shutdown: the time {when} is not understood on a process machine"
        what = "again" if options & {"-r", "--reboot"} else "off"
        seconds = 0.0 if when == "now" else float(minutes) * 60
        self.schedule(what, seconds)
        return 0, "" if seconds == 0 else f"Shutdown scheduled in {minutes} min, use 'shutdown -c' to cancel."

    def schedule(self, what: str, seconds: float) -> None:
        """Do it after that long, instead of whatever was scheduled before."""
        self.cancel()
        cancelled = threading.Event()
        due = self._clock.now() + seconds

        def wait() -> None:
            while self._clock.now() < due:
                if cancelled.wait(_POLL):
                    return
            if not cancelled.is_set():
                self._act(what)

        with self._lock:
            self._cancel = cancelled
        threading.Thread(target=wait, name="shutdown", daemon=True).start()

    def cancel(self) -> None:
        """Forget what was scheduled."""
        with self._lock:
            if self._cancel is not None:
                self._cancel.set()
            self._cancel = None
