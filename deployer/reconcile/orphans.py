"""Which stacks nobody looks after any more, and why. Pure: a census and the time in, verdicts out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from deployer.reconcile.census import Holdings, Thing

#: Young things without a record or an instance may belong to an `up` that runs and does not show its lease yet.
GRACE_SECONDS = 300.0


@dataclass(frozen=True)
class Orphan:
    """One stack to sweep. since: when its oldest thing was made, in seconds since the epoch, 0 when AWS does not say.

    why: a sentence's end, after `stack NAME`.
    """

    stack: str
    why: str
    since: float
    things: tuple[Thing, ...]

    @property
    def instances(self) -> tuple[Thing, ...]:
        """What costs by the hour."""
        return tuple(thing for thing in self.things if thing.kind == "instance")


def orphans(holdings: Iterable[Holdings], now: float, *, older_than: float = 0.0) -> list[Orphan]:
    """The stacks that can go, by name. older_than: seconds that the oldest thing of one must have existed.

    A stack under a living lease is being worked on and never an orphan; one that serves within its lifetime neither.
    """
    found = []
    for one in holdings:
        why = verdict(one, now)
        if why is not None:
            since = min((time for time in _times(one) if time), default=0.0)
            if since == 0.0 or now - since >= older_than:
                found.append(Orphan(one.stack, why, since, tuple(one.things)))
    return sorted(found, key=lambda orphan: orphan.stack)


def verdict(one: Holdings, now: float) -> str | None:
    """Why the stack can go; None when it is looked after."""
    if one.lease is not None and one.lease.expires_at >= now:
        return None
    deadline = _deadline(one)
    if deadline is not None and deadline < now:
        return "is over its time to live"
    youngest = max(_times(one), default=0.0)
    if now - youngest < GRACE_SECONDS:
        return None
    record = one.record
    if not one.has_record:
        return "has no record" if one.things else "has only an expired lease"
    if record is None:
        # Another version's, perhaps: it may serve, and only its own version can tell.
        return None if one.instances else "has a record that cannot be read, and no instance"
    if record.phase == "deleting":
        return "was not deleted to its end"
    if one.instances:
        return None
    return "lost its instance" if record.phase == "ready" else "was made half and has no instance"


def _deadline(one: Holdings) -> float | None:
    """The latest end that record or tags name: an extended stack is not over."""
    named = [thing.expires_at for thing in one.instances if thing.expires_at is not None]
    if one.record is not None and one.record.expires_at is not None:
        named.append(one.record.expires_at)
    return max(named) if named else None


def _times(one: Holdings) -> list[float]:
    times = [thing.since for thing in one.things]
    if one.record is not None:
        times += [one.record.created_at, one.record.launched_at, one.record.unsettled_at]
    return times
