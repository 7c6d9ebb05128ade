"""Timer units of a process machine: one moment or one delay. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from deployer.rehearsal.machines.unit_syntax import UnitError, assignments, span

_MOMENTS = ("%Y-%m-%d %H:%M:%S UTC", "%Y-%m-%d %H:%M UTC")


@dataclass(frozen=True)
class Timer:
    """unit: what it starts. at: seconds since the epoch, or None. after: seconds from its own start, or None.

    persistent: a moment that has passed when the timer starts counts at once.
    """

    name: str
    unit: str
    at: float | None
    after: float | None
    persistent: bool
    wanted_by: tuple[str, ...]

    def due(self, now: float) -> float | None:
        """When to start the unit, for a timer that starts now; None for never."""
        if self.after is not None:
            return now + self.after
        assert self.at is not None
        return self.at if self.at > now or self.persistent else None


def parse_timer(name: str, text: str) -> Timer:
    """Read a .timer file. Raises UnitError when it says none of what a process machine knows, or several things."""
    settings = assignments(text)
    moments = [_moment(name, value) for value in settings.get("OnCalendar", [])]
    delays = [span(value) for key in ("OnActiveSec", "OnBootSec", "OnStartupSec") for value in settings.get(key, [])]
    if len(moments) + len(delays) != 1:
        raise UnitError(f"{name}: one OnCalendar= moment or one delay is understood here")
    return Timer(
        name=name,
        unit=settings.get("Unit", [name.removesuffix(".timer") + ".service"])[-1],
        at=moments[0] if moments else None,
        after=delays[0] if delays else None,
        persistent=settings.get("Persistent", ["no"])[-1].lower() in ("yes", "true", "on", "1"),
        wanted_by=tuple(word for line in settings.get("WantedBy", []) for word in line.split()),
    )


def _moment(name: str, text: str) -> float:
    for form in _MOMENTS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    raise UnitError(f"{name}: OnCalendar={text} is not a single moment in UTC")
