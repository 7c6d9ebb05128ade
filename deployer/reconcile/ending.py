"""End instances for sure: ask, look, ask again, until AWS shows the true end state."""

from __future__ import annotations

from collections.abc import Iterable

from deployer.aws.resources import instance
from deployer.aws.resources.instance import Instance
from deployer.aws.waiting import FRESH_SECONDS, Look, wait_until
from deployer.errors import TeardownIncomplete
from deployer.reconcile.operation import Operation
from deployer.reconcile.record import Intent

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


def outcome_of(op: Operation, intent: Intent) -> Instance | None:
    """The instance a begun launch made, waited for until it would have to show; None when the call made nothing."""

    def look() -> Look[Instance]:
        found = instance.by_launch(op.aws, op.names.stack, intent.token)
        if found is not None:
            return Look(found.id, done=True, value=found)
        age = op.clock.now() - intent.at
        return Look(f"no instance of launch attempt {intent.attempt} after {age:.0f} s", done=age >= FRESH_SECONDS)

    return wait_until(
        look,
        clock=op.clock,
        deadline_seconds=FRESH_SECONDS * 2,
        what="outcome of an interrupted launch",
        emit=op.emit,
        keep_alive=op.lease.check,
    )
