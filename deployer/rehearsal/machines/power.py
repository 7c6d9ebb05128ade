"""shutdown(8) of one machine: now, in so many minutes, cancelled."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deployer.clock import Clock
from deployer.rehearsal.machines.alarm import Alarm


class PowerSwitch:
    """act: called in a thread of its own with `off` or `again`."""

    def __init__(self, act: Callable[[str], None], clock: Clock) -> None:
        self._act = act
        self._clock = clock
        self._alarm = Alarm(clock)

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
        self._alarm.set(self._clock.now() + seconds, lambda: self._act(what))

    def cancel(self) -> None:
        """Forget what was scheduled."""
        self._alarm.cancel()
