"""What follows the health ladder: the old instance goes, or the new one does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from deployer.aws.resources import agent_program, instance, security_group
from deployer.aws.waiting import retry_while, still_used
from deployer.reconcile import steps
from deployer.reconcile.converge import Converged
from deployer.reconcile.ending import wait_terminated
from deployer.reconcile.operation import Operation
from deployer.reconcile.record import Record
from deployer.targets.base import Step

#: Interfaces let go of a group some seconds after their instance is terminated.
GROUP_DEADLINE_SECONDS = 180.0


def settle(op: Operation, done: Converged, tuned: Mapping[str, Any] | None) -> Record:
    """The new one serves: end what it replaces, and say `ready` in the record.

    tuned: the measured choice it runs with.
    """
    end_instances(op, done.replaces, "replaced by a healthy one")
    for group in done.old_groups:
        step = Step("delete", "security-group", group, "nothing uses it any more")
        steps.run(step, lambda group=group: delete_group(op, group), clock=op.clock, emit=op.emit)  # type: ignore[misc]
    for name, parts in done.old_programs.items():
        step = Step("delete", "agent-program", name, "no instance needs it any more")
        steps.run(step, lambda parts=parts: agent_program.delete(op.aws, parts), clock=op.clock, emit=op.emit)  # type: ignore[misc]
    if done.record.phase == "ready" and done.record.tuned == tuned:
        return done.record
    return op.write(replace(done.record, phase="ready", tuned=tuned))


def fall_back(op: Operation, done: Converged) -> Record:
    """The new one does not serve. With an older one there, only the new one goes; else it stays to be looked at."""
    if not done.serving:
        return op.write(replace(done.record, phase="failed"))
    stays = done.serving[-1]
    before = replace(done.before or done.record, attempt=done.record.attempt, intent=None, phase="ready")
    # First the record: an `up` that finds us dead here must not take the failed one for the one that serves.
    record = op.write(before.with_id("instance", stays))
    end_instances(op, [done.instance_id], f"it did not become healthy; {stays} stays")
    return record


def end_instances(op: Operation, ids: Iterable[str], reason: str) -> None:
    """Terminate, and wait for the true end."""
    wanted = sorted(ids)
    if not wanted:
        return

    def act() -> None:
        instance.terminate(op.aws, wanted)
        wait_terminated(op, wanted)

    steps.run(Step("delete", "instance", ", ".join(wanted), reason), act, clock=op.clock, emit=op.emit)


def delete_group(op: Operation, group: str) -> None:
    """Delete a security group of ours, once the interfaces that use it are gone."""
    retry_while(
        lambda: security_group.delete(op.aws, group),
        still_used,
        clock=op.clock,
        deadline_seconds=GROUP_DEADLINE_SECONDS,
        what=f"security group {group} is free",
        emit=op.emit,
        keep_alive=op.lease.check,
    )
