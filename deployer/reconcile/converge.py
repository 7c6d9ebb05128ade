"""Bring AWS to what a Deployment asks for: observe, plan, apply. Health is asked afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deployer.access.keys import ensure_private_key, public_key_of
from deployer.aws import errors, images, network, own_address
from deployer.aws.names import Names
from deployer.aws.network import Network
from deployer.aws.resources import instance
from deployer.aws.session import Aws
from deployer.aws.tags import TagSet
from deployer.aws.waiting import FRESH_SECONDS, not_seen_yet, retry_while
from deployer.decide.types import Deployment
from deployer.errors import AwsError
from deployer.events import Event
from deployer.reconcile import desired as desires
from deployer.reconcile import plan as plans
from deployer.reconcile import record as records
from deployer.reconcile import steps
from deployer.reconcile.apply import supporting
from deployer.reconcile.desired import Desired, ec2_parts
from deployer.reconcile.ending import wait_visible
from deployer.reconcile.launch import Launch, Launched, launch
from deployer.reconcile.observe import Observed, observe
from deployer.reconcile.operation import Operation, made_key_path
from deployer.reconcile.places import wanted_types
from deployer.reconcile.record import AccessFacts, EndpointFacts, Record
from deployer.settings import Settings
from deployer.spec.models import Ec2Stack
from deployer.spec.values import parse_duration_seconds
from deployer.targets.base import Plan


@dataclass(frozen=True)
class Converged:
    """instance_id: the one that shall serve. replaces: older instances of ours, ended once it does.

    old_groups: ids of our security groups that nothing needs then. before: the record as it was.
    """

    plan: Plan
    record: Record
    instance_id: str
    replaces: tuple[str, ...]
    old_groups: tuple[str, ...]
    before: Record | None


@dataclass(frozen=True)
class Look:
    """One look at the account beside what the deployment wants of it."""

    desired: Desired
    observed: Observed
    network: Network


def look(aws: Aws, settings: Settings, deployment: Deployment, *, make_key: bool) -> Look:
    """Observe, and say what should be. make_key: make the private key when it is missing and nothing uses its pair."""
    spec, _ = ec2_parts(deployment)
    names = Names(spec.name, spec.region)
    observed, more = observe(
        aws,
        names,
        network=lambda: network.find(aws, spec.network),
        operator=lambda: _operator_networks(aws, settings, spec),
    )
    key_path = Path(spec.access.key).expanduser() if spec.access.key else made_key_path(settings, names)
    lost = observed.key_pair is not None and bool(observed.live)
    if spec.access.key or key_path.exists():
        public_key: str | None = public_key_of(key_path)
    else:
        public_key = ensure_private_key(key_path) if make_key and not lost else None
    found: Network = more["network"]
    desired = desires.build(
        deployment,
        account=aws.account,
        vpc=found.vpc,
        operator_networks=more["operator"],
        public_key=public_key,
        key_place=str(key_path),
    )
    return Look(desired, observed, found)


def converge(op: Operation, deployment: Deployment) -> Converged:
    """Everything up to a launched (or kept, or started) instance, in the record."""
    spec, _ = ec2_parts(deployment)
    seen = look(op.aws, op.settings, deployment, make_key=True)
    if wait_visible(op, seen.observed):
        seen = look(op.aws, op.settings, deployment, make_key=True)
    observed = replace(seen.observed, record=_settled(op, seen.observed))
    plan = plans.make(seen.desired, observed)
    choice = plans.choose(seen.desired, observed)
    launching = choice.current is None
    record = _recorded(op, deployment, seen.desired, observed, plan, launching=launching)
    tags = TagSet(op.names.stack, record.generation, deployment.spec_digest, record.expires_at, spec.tags)
    beside: dict[str, Callable[[], Any]] = {
        "image": lambda: images.find(op.aws, spec.instance.ami, deployment.hardware),
        "zones": lambda: _zones(op, spec, seen.network),
    }
    group, facts = supporting(op, seen.desired, observed, plan, tags, beside if launching else {})
    step = next(step for step in plan.steps if step.kind == "instance" and step.action != "delete")
    others = tuple(one.id for one in choice.others)
    if choice.current is not None:
        current = choice.current
        record = _kept(op, record, current.id)
        if step.action == "update":
            steps.run(step, lambda: _start(op, current.id), clock=op.clock, emit=op.emit)
            record = op.write(replace(record, phase="booting"))
    else:
        launched: list[Launched] = []

        def act() -> str:
            launch_plan = _launch_plan(op, deployment, seen, record, facts, group, replacing=bool(others))
            launched.append(launch(op, launch_plan, record))
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
    old_groups = tuple(s.name for s in plan.steps if s.kind == "security-group" and s.action == "delete")
    return Converged(plan, record, record.ids["instance"], others, old_groups, observed.record)


def _operator_networks(aws: Aws, settings: Settings, spec: Ec2Stack) -> list[str]:
    if spec.network.security_group is not None:
        return []
    if spec.access.allow != "auto":
        return list(spec.access.allow)
    return [own_address.own_cidr(aws.partition, settings.my_cidr)]


def _settled(op: Operation, observed: Observed) -> Record | None:
    """The record, with an interrupted launch resolved when its instance shows. In AWS too, before anything else."""
    record = observed.record
    if record is None or record.intent is None:
        return record
    mark = instance.launch_mark(record.intent.token)
    made = next((one for one in observed.instances if one.ours and one.launch == mark), None)
    if made is None:
        return record
    found = record.with_id("instance", made.id)
    return op.write(replace(found, intent=None, phase="booting", launched_at=made.launched_at))


def _recorded(
    op: Operation, deployment: Deployment, desired: Desired, observed: Observed, plan: Plan, *, launching: bool
) -> Record:
    """The record in AWS, created or brought up to date, before anything else is touched."""
    step = next(step for step in plan.steps if step.kind == "stack-record")
    old = observed.record
    if old is not None and step.action == "keep" and old.phase == "ready" and not launching:
        return old
    spec, _ = ec2_parts(deployment)
    now = op.clock.now()
    generation = max([1, *(one.generation for one in observed.live)])
    base = old or Record(
        stack=op.names.stack,
        region=op.names.region,
        uid=records.new_uid(),
        generation=generation,
        attempt=0,
        spec_digest="",
        launch_digest="",
        phase="creating",
        created_at=now,
        expires_at=None,
    )
    ttl = parse_duration_seconds(spec.lifetime.ttl) if spec.lifetime.ttl else None
    # A launch that was begun keeps its expiry: the same token must come with the same parameters.
    renew = launching and base.intent is None
    phase = "creating" if old is None or old.phase in ("deleting", "failed", "no-capacity") else old.phase
    record = replace(
        base,
        spec_digest=desired.spec_digest,
        phase=phase,
        expires_at=(None if ttl is None else now + ttl) if renew else base.expires_at,
        endpoint=_endpoint(deployment, base),
        access=AccessFacts(
            user=base.access.user or (spec.access.user if spec.access.user != "auto" else ""),
            port=spec.access.port,
            key=spec.access.key,
            bastion=spec.access.bastion,
        ),
        holder=op.lease.holder,
    )
    if old is None:
        tags = TagSet(op.names.stack, generation, desired.spec_digest, record.expires_at, spec.tags)
        made: list[Record] = []

        def act() -> str:
            op.lease.check()
            made.append(records.create(op.aws, op.names, record.stamped(now), tags))
            return op.names.record

        steps.run(step, act, clock=op.clock, emit=op.emit)
        return made[0]
    if step.action == "keep":
        return old if record == old else op.write(record)

    def update() -> str:
        op.write(record)
        return op.names.record

    steps.run(step, update, clock=op.clock, emit=op.emit)
    return record


def _endpoint(deployment: Deployment, base: Record) -> EndpointFacts:
    spec, _ = ec2_parts(deployment)
    facts = deployment.weights.facts
    return EndpointFacts(
        alias=deployment.engine.alias,
        port=spec.endpoint.port,
        expose=spec.endpoint.expose,
        model=facts.name if facts else deployment.weights.file,
        instance_type=base.endpoint.instance_type or spec.instance.type,
    )


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


def _kept(op: Operation, record: Record, instance_id: str) -> Record:
    if record.ids.get("instance") == instance_id and record.intent is None:
        return record
    return op.write(record.with_id("instance", instance_id))


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


def _launch_plan(
    op: Operation,
    deployment: Deployment,
    seen: Look,
    record: Record,
    facts: dict[str, Any],
    group: str | None,
    *,
    replacing: bool,
) -> Launch:
    spec, _ = ec2_parts(deployment)
    generation = record.generation
    if replacing:
        generation = max([generation, *(one.generation for one in seen.observed.live)]) + 1
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
    )
