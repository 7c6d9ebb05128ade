"""End instances for sure: ask, look, ask again, until AWS shows the true end state."""

from __future__ import annotations

from collections.abc import Iterable

from deployer.aws.resources import instance
from deployer.aws.waiting import FRESH_SECONDS, Look, wait_until
from deployer.errors import TeardownIncomplete
from deployer.reconcile.observe import Observed
from deployer.reconcile.operation import Operation
from deployer.reconcile.record import Intent, Record

#: Large GPU instances take minutes to shut down.
TERMINATE_DEADLINE_SECONDS = 900.0


def wait_terminated(op: Operation, ids: Iterable[str], *, launched_at: float = 0.0) -> None:
    """Until every one is `terminated` or gone for good. Raises TeardownIncomplete at the deadline.

    launched_at: when the newest was launched. An instance that does not show is only believed gone when it is too old
    to be merely invisible yet.
    """
    wanted = sorted(ids)
    if not wanted:
        return

    def look() -> Look[None]:
        seen = instance.by_ids(op.aws, op.names.stack, wanted)
        too_old = op.clock.now() >= launched_at + FRESH_SECONDS
        left: list[str] = []
        for one in wanted:
            found = seen.get(one)
            if found is None and too_old:
                continue
            if found is not None and found.state == "terminated":
                continue
            if found is None or found.live:
                instance.terminate(op.aws, [one])
            left.append(f"{one} {found.state if found else 'not visible yet'}")
        return Look(", ".join(left), done=not left)

    wait_until(
        look,
        clock=op.clock,
        deadline_seconds=TERMINATE_DEADLINE_SECONDS,
        what="instances terminate",
        emit=op.emit,
        keep_alive=op.lease.check,
        timeout=lambda text: TeardownIncomplete(text, hint="run `deployer down` again; it goes on where it stopped"),
    )


def launch_shows(record: Record | None, observed: Observed) -> bool:
    """Whether no instance can hide behind the record's intent: there is none, or its instance is there to see."""
    if record is None or record.intent is None:
        return True
    mark = instance.launch_mark(record.intent.token)
    return any(one.launch == mark for one in observed.instances)


def wait_for_launch(op: Operation, intent: Intent) -> None:
    """Until the instance of a begun launch shows, or would have to show if the call had made one."""

    def look() -> Look[None]:
        shows = instance.by_launch(op.aws, op.names.stack, intent.token) is not None
        age = op.clock.now() - intent.at
        text = f"no instance of launch attempt {intent.attempt} after {age:.0f} s"
        return Look(text, done=shows or age >= FRESH_SECONDS)

    wait_until(
        look,
        clock=op.clock,
        deadline_seconds=FRESH_SECONDS * 2,
        what="outcome of an interrupted launch",
        emit=op.emit,
        keep_alive=op.lease.check,
    )


def wait_visible(op: Operation, observed: Observed) -> bool:
    """Wait for the recorded instance when it is too fresh to be believed gone. Whether it was waited for."""
    record = observed.record
    recorded = record.ids.get("instance") if record else None
    if record is None or recorded is None or any(one.id == recorded for one in observed.instances):
        return False
    launched_at = record.launched_at
    if op.clock.now() >= launched_at + FRESH_SECONDS:
        return False

    def look() -> Look[None]:
        shows = instance.by_id(op.aws, op.names.stack, recorded) is not None
        too_old = op.clock.now() >= launched_at + FRESH_SECONDS
        return Look(f"{recorded} not visible yet", done=shows or too_old)

    wait_until(
        look,
        clock=op.clock,
        deadline_seconds=FRESH_SECONDS * 2,
        what="the instance launched a moment ago becomes visible",
        emit=op.emit,
        keep_alive=op.lease.check,
    )
    return True
