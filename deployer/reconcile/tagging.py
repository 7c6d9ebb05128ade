"""Carry out a change of the user's tags: in place, on everything the stack is made of."""

from __future__ import annotations

from dataclasses import replace

from deployer.aws.resources import agent_program, key_pair, leftover, user_tags
from deployer.reconcile import steps
from deployer.reconcile.operation import Operation
from deployer.reconcile.plan import TagChange
from deployer.reconcile.record import Record
from deployer.targets.base import Plan


def bring_up_to_date(op: Operation, plan: Plan, change: TagChange, group: str | None, record: Record) -> Record:
    """Run the plan's step for the tags, when it has one. group: our security group. Returns the record it leaves."""
    step = next((step for step in plan.steps if step.kind == "tags"), None)
    if step is None:
        return record

    def act() -> None:
        pair = key_pair.observe(op.aws, op.names)
        # Volumes and interfaces in use show here too.
        parts = [one.id for one in leftover.observe(op.aws, op.names.stack)]
        ids = [record.ids["instance"], *parts, *([group] if group else []), *([pair.id] if pair else [])]
        parameters = [part for one in agent_program.observe(op.aws, op.names) if one.ours for part in one.parts]
        if change.put:
            user_tags.put(op.aws, op.names, ids, parameters, change.put)
        if change.gone:
            user_tags.take_off(op.aws, op.names, ids, parameters, change.gone)

    steps.run(step, act, clock=op.clock, emit=op.emit)
    return op.write(replace(record, tag_keys=tuple(key for key in record.tag_keys if key not in change.gone)))
