"""What `up` writes into the stack record, and when."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from deployer.aws.images import DEFAULT_LOGIN
from deployer.aws.resources import instance
from deployer.aws.tags import TagSet, expires_at
from deployer.decide.types import Deployment
from deployer.errors import DeployerError
from deployer.reconcile import record as records
from deployer.reconcile import steps
from deployer.reconcile.desired import Desired, ec2_parts
from deployer.reconcile.observe import Observed
from deployer.reconcile.operation import Operation
from deployer.reconcile.record import AccessFacts, EndpointFacts, Record
from deployer.spec.network import tls_of
from deployer.spec.values import parse_duration_seconds
from deployer.targets.base import Plan, Step

#: What costs nothing and is found by its name: kinds that may show late after they were made.
MADE = frozenset({"api-key", "agent-program", "security-group", "key-pair", "role", "instance-profile"})


def resolved(op: Operation, observed: Observed) -> Record | None:
    """The record, with an interrupted launch resolved when its instance shows. In AWS too, before anything else."""
    record = observed.record
    if record is None or record.intent is None:
        return record
    mark = instance.launch_mark(record.intent.token)
    made = next((one for one in observed.instances if one.ours and one.launch == mark), None)
    if made is None:
        return record
    return op.write(
        replace(
            record.with_id("instance", made.id),
            intent=None,
            phase="booting",
            launched_at=made.launched_at,
            generation=made.generation,
            launch_digest=made.launch_digest or "",
        )
    )


def bring_up_to_date(
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
        # What serves keeps its end though its record was lost.
        expires_at=max((at for one in observed.live if (at := expires_at(one.tags)) is not None), default=None),
        ttl=spec.lifetime.ttl,
        idle=spec.lifetime.idle,
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
        ttl=spec.lifetime.ttl if renew else base.ttl,
        idle=spec.lifetime.idle if renew else base.idle,
        keep_until=0.0 if renew else base.keep_until,
        # Both the old and the new ones until the old ones are taken off.
        tag_keys=tuple(sorted({*base.tag_keys, *desired.user_tags})),
        endpoint=_endpoint(deployment, base),
        access=AccessFacts(
            user=spec.access.user if spec.access.user != "auto" else base.access.user or DEFAULT_LOGIN,
            port=spec.access.port,
            key=spec.access.key,
            bastion=spec.access.bastion,
        ),
        holder=op.lease.holder,
        unsure=tuple(sorted({*base.unsure, *(step.kind for step in plan.steps if step.kind in MADE and _makes(step))})),
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


def _makes(step: Step) -> bool:
    return step.action in ("create", "replace")


def not_made(op: Operation, record: Record, observed: Observed, begun: Iterable[str]) -> None:
    """Say which kinds were not even begun or refused for sure, so that nobody waits for them to show."""
    before = observed.record.unsure if observed.record else ()
    phase = record.phase if observed.live else "failed"
    with suppress(DeployerError):
        op.write(replace(record, phase=phase, unsure=tuple(sorted({*before, *begun}))))


def _endpoint(deployment: Deployment, base: Record) -> EndpointFacts:
    spec, _ = ec2_parts(deployment)
    facts = deployment.weights.facts
    return EndpointFacts(
        alias=deployment.engine.alias,
        port=spec.endpoint.port,
        expose=spec.endpoint.expose,
        tls=tls_of(spec.endpoint),
        model=facts.name if facts else deployment.weights.file,
        instance_type=base.endpoint.instance_type or spec.instance.type,
    )


def point_at(op: Operation, record: Record, instance_id: str) -> Record:
    """The record with this instance as the one that serves."""
    if record.ids.get("instance") == instance_id and record.intent is None:
        return record
    return op.write(record.with_id("instance", instance_id))


def put_back(op: Operation, before: Record) -> None:
    """The old instance goes on serving, so the record says what it said; unless a launch may still come to light."""
    now = records.read(op.aws, op.names)
    if now is not None and now.intent is None:
        op.write(replace(before, attempt=now.attempt))
