"""`down` by somebody who may not look at everything: the instances go all the same, the rest is named."""

from __future__ import annotations

from contextlib import suppress

from deployer.aws.resources import instance
from deployer.errors import AwsError, DeployerError, TeardownIncomplete
from deployer.reconcile import record as records
from deployer.reconcile import steps
from deployer.reconcile.ending import wait_terminated
from deployer.reconcile.operation import Operation
from deployer.targets.base import Step


def end_what_is_billed(op: Operation, refusal: AwsError) -> DeployerError:
    """End the instances that the tags or the record tell. Returns the error to raise: `refusal` when there are none."""
    ids: set[str] = set()
    with suppress(AwsError):
        seen = instance.observe(op.aws, op.names.stack)
        ids |= {one.id for one in seen if one.ours and one.state != "terminated"}
    with suppress(DeployerError):
        record = records.read(op.aws, op.names)
        recorded = record.ids.get("instance") if record else None
        found = instance.by_id(op.aws, op.names.stack, recorded) if recorded else None
        if found is not None and found.ours and found.state != "terminated":
            ids.add(found.id)
    if not ids:
        return refusal
    wanted = sorted(ids)

    def act() -> None:
        instance.terminate(op.aws, wanted)
        wait_terminated(op, wanted)

    names = ", ".join(wanted)
    try:
        steps.run(Step("delete", "instance", names, "down"), act, clock=op.clock, emit=op.emit)
    except AwsError as error:
        return _incomplete(op, f"instance {names} still runs", error)
    return _incomplete(op, f"instance {names} was ended, the rest could not be looked for", refusal)


def _incomplete(op: Operation, text: str, error: AwsError) -> TeardownIncomplete:
    return TeardownIncomplete(
        f"stack {op.names.stack}: {text}: {error.message}", where=error.operation, hint=error.hint
    )
