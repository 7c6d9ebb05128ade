"""Bring AWS to what a Deployment asks for: observe, plan, apply. Health is asked afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from deployer.aws import errors, images, network
from deployer.aws.network import Network
from deployer.aws.resources import instance
from deployer.aws.resources.instance import Instance
from deployer.aws.tags import TagSet
from deployer.aws.waiting import FRESH_SECONDS, not_seen_yet, retry_while
from deployer.decide.types import Deployment
from deployer.errors import AwsError, DeployerError
from deployer.events import Event
from deployer.reconcile import plan as plans
from deployer.reconcile import recording, steps, tagging
from deployer.reconcile.apply import supporting
from deployer.reconcile.desired import ec2_parts
from deployer.reconcile.ending import wait_visible
from deployer.reconcile.launch import Launch, Launched, launch
from deployer.reconcile.looking import Look, look
from deployer.reconcile.observe import Observed
from deployer.reconcile.operation import Operation
from deployer.reconcile.places import wanted_types
from deployer.reconcile.record import Record
from deployer.spec.models import Ec2Stack
from deployer.targets.base import Plan


@dataclass(frozen=True)
class Converged:
    """instance_id: the one that shall serve. replaces: older instances of ours, ended once it does.

    serving: those of them that go on when it does not; AWS ends the others.
    old_groups: ids of our security groups that nothing needs then, old_programs: SSM parameters of agents' programs.
    before: the record as it was.
    """

    plan: Plan
    record: Record
    instance_id: str
    replaces: tuple[str, ...]
    serving: tuple[str, ...]
    old_groups: tuple[str, ...]
    old_programs: dict[str, tuple[str, ...]]
    before: Record | None


def converge(op: Operation, deployment: Deployment) -> Converged:
    """Everything up to a launched (or kept, or started) instance, in the record."""
    spec, _ = ec2_parts(deployment)
    seen = look(op.aws, op.settings, deployment, make_key=True)
    if wait_visible(op, seen.observed):
        seen = look(op.aws, op.settings, deployment, make_key=True)
    observed = replace(seen.observed, record=recording.resolved(op, seen.observed))
    plan = plans.make(seen.desired, observed)
    choice = plans.choose(seen.desired, observed)
    launching = choice.current is None
    record = recording.bring_up_to_date(op, deployment, seen.desired, observed, plan, launching=launching)
    others = tuple(one.id for one in choice.others)
    generation = _generation(record, observed, replacing=launching and bool(others))
    tags = TagSet(op.names.stack, generation, deployment.spec_digest, record.expires_at, spec.tags)
    beside: dict[str, Callable[[], Any]] = {
        "image": lambda: images.find(op.aws, spec.instance.ami, deployment.hardware),
        "zones": lambda: _zones(op, spec, seen.network),
    }
    begun: set[str] = set()
    try:
        group, facts = supporting(op, seen.desired, observed, plan, tags, beside if launching else {}, begun)
    except DeployerError:
        recording.not_made(op, record, observed, begun)
        raise
    step = next(step for step in plan.steps if step.kind == "instance" and step.action != "delete")
    if choice.current is not None:
        current = choice.current
        record = recording.point_at(op, record, current.id)
        if step.action == "update":
            steps.run(step, lambda: _start(op, current.id), clock=op.clock, emit=op.emit)
            record = op.write(replace(record, phase="booting"))
    else:
        launched: list[Launched] = []

        def act() -> str:
            launch_plan = _launch_plan(deployment, seen, facts, group, generation, _left(choice.others))
            try:
                launched.append(launch(op, launch_plan, record))
            except DeployerError:
                if others and observed.record is not None:
                    recording.put_back(op, observed.record)
                raise
            return launched[0].instance_id

        op.emit(
            Event(
                "decision",
                {"name": "ami", "value": facts["image"].id, "reason": facts["image"].origin, "source": "aws"},
            )
        )
        steps.run(step, act, clock=op.clock, emit=op.emit)
        if launched[0].place is None:
            # An interrupted launch had made it, maybe for another version of the spec: look at it like at any other.
            return replace(converge(op, deployment), plan=plan)
        record = launched[0].record
    record = tagging.bring_up_to_date(op, plan, plans.tag_change(seen.desired, observed, choice), group, record)
    old_groups = tuple(s.name for s in plan.steps if s.kind == "security-group" and s.action == "delete")
    gone = {s.name for s in plan.steps if s.kind == "agent-program" and s.action == "delete"}
    old_programs = {one.name: tuple(one.parts) for one in observed.programs if one.name in gone}
    serving = tuple(one.id for one in choice.others if not one.interrupted)
    return Converged(plan, record, record.ids["instance"], others, serving, old_groups, old_programs, observed.record)


def _zones(op: Operation, spec: Ec2Stack, found: Network) -> dict[str, list[str]]:
    types = wanted_types(spec)
    try:
        return network.offering_zones(op.aws, types)
    except AwsError as error:
        if errors.meaning(error.aws_code) != "permission":
            raise
        # Not allowed to look: try every zone that has a subnet, RunInstances itself says what is offered.
        op.emit(Event("warning", {"message": error.message, "hint": "every zone is tried instead"}))
        return {name: sorted({subnet.zone for subnet in found.subnets}) for name in types}


def _start(op: Operation, instance_id: str) -> str:
    retry_while(
        lambda: instance.start(op.aws, instance_id),
        not_seen_yet,
        clock=op.clock,
        deadline_seconds=FRESH_SECONDS * 5,
        what=f"{instance_id} has stopped and can be started",
        emit=op.emit,
        keep_alive=op.lease.check,
    )
    return instance_id


def _generation(record: Record, observed: Observed, *, replacing: bool) -> int:
    """Of the instance that shall serve. One that replaces others is of the next generation, and so is a new API key."""
    if not replacing:
        return record.generation
    return max([record.generation, *(one.generation for one in observed.live)]) + 1


def _launch_plan(
    deployment: Deployment,
    seen: Look,
    facts: dict[str, Any],
    group: str | None,
    generation: int,
    left: str,
) -> Launch:
    spec, _ = ec2_parts(deployment)
    chosen_group = spec.network.security_group or group
    assert chosen_group is not None
    return Launch(
        deployment=deployment,
        desired=seen.desired,
        network=seen.network,
        zones=facts["zones"],
        group=chosen_group,
        image=facts["image"],
        generation=generation,
        left=left,
    )


def _left(others: tuple[Instance, ...]) -> str:
    """What there is when nothing can be launched."""
    serving = [one.id for one in others if not one.interrupted]
    taken = [one.id for one in others if one.interrupted]
    said = [f"{', '.join(serving)} serves as before"] if serving else []
    said += [f"{', '.join(taken)} runs until AWS takes it back"] if taken else []
    return " and ".join(said) or "nothing that costs money was left"
