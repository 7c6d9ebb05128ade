"""Launch one instance: intent before every call, the next place when AWS has no capacity, a stop for anything else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from deployer.aws import errors, images
from deployer.aws.images import Image
from deployer.aws.network import Network
from deployer.aws.resources import instance
from deployer.aws.tags import TagSet
from deployer.aws.waiting import FRESH_SECONDS, Look, not_seen_yet, retry_while, wait_until
from deployer.catalog import partition as partitions
from deployer.decide.types import Deployment
from deployer.errors import AwsError
from deployer.events import Event
from deployer.reconcile import parallel
from deployer.reconcile.attempts import VCPU_CODES, Attempt, beyond_quota, nothing_anywhere, refused
from deployer.reconcile.desired import Desired, ec2_parts
from deployer.reconcile.operation import Operation
from deployer.reconcile.places import Skipped, places
from deployer.reconcile.record import Intent, Record
from deployer.reconcile.request import Place, build

#: AWS's answers that prove nothing was launched. Any other error leaves the intent, so nothing is ever forgotten.
_REFUSALS = frozenset({"capacity", "quota", "permission", "parameter", "throttle", "not_found", "credentials"})


@dataclass(frozen=True)
class Launch:
    """What every attempt shares. zones: instance type -> zones that offer it. group: the security group's id.

    left: what there is of the stack when nothing can be launched, in words.
    """

    deployment: Deployment
    desired: Desired
    network: Network
    zones: Mapping[str, list[str]]
    group: str
    image: Image
    generation: int
    left: str


@dataclass(frozen=True)
class Launched:
    """place: where; None when an interrupted run had launched it, maybe with other parameters."""

    record: Record
    instance_id: str
    place: Place | None


def launch(op: Operation, plan: Launch, record: Record) -> Launched:
    """One running launch, in the record. Goes on with the record's intent when there is one: same token, same instance.

    Raises CapacityError with the table of attempts when no place has room, RefusedError when AWS refuses for good,
    QuotaError among them with the quota's name and value.
    """
    attempts: list[Attempt] = []
    for place in _ordered(op, plan, record.intent):
        if isinstance(place, Skipped):
            skipped = Attempt(place.market, place.instance_type, place.zone, "skipped", message=place.reason)
            attempts.append(_tell(op, skipped))
            continue
        image = _image_for(op, plan, place)
        record = _with_intent(op, plan, record, place, image)
        try:
            launched = _try(op, plan, record, place, image)
        except AwsError as error:
            if errors.meaning(error.aws_code) in _REFUSALS:
                # Written now: `down` need not wait for an instance that cannot come.
                record = op.write(replace(record, intent=None, phase="failed"))
            attempts.append(_tell(op, refused(place.market, place.instance_type, place.zone, error)))
            if error.aws_code in VCPU_CODES:
                raise beyond_quota(op.aws, error, place.deployment.hardware, attempts) from error
            if errors.meaning(error.aws_code) != "capacity":
                raise
            continue
        _tell(op, Attempt(place.market, place.instance_type, place.zone, "launched"))
        return launched
    op.write(replace(record, phase="no-capacity", intent=None))
    raise nothing_anywhere(attempts, op.names.stack, op.names.region, plan.left)


def _ordered(op: Operation, plan: Launch, intent: Intent | None) -> Iterator[Place | Skipped]:
    """The places; after an interrupted launch the one it was begun in comes first."""
    found = places(plan.deployment, plan.network, plan.zones, op.settings)
    if intent is None:
        yield from found
        return
    every = list(found)
    begun = (intent.market, intent.instance_type, intent.zone)
    yield from sorted(every, key=lambda p: not (isinstance(p, Place) and (p.market, p.instance_type, p.zone) == begun))


def _with_intent(op: Operation, plan: Launch, record: Record, place: Place, image: Image) -> Record:
    """The record with the call that is about to be made, and what only this place decides."""
    if record.intent is not None:
        return record
    spec, _ = ec2_parts(plan.deployment)
    attempt = record.attempt + 1
    token = instance.client_token(op.aws.account, op.aws.region, op.names.stack, record.uid, plan.generation, attempt)
    intent = Intent(token, plan.generation, attempt, place.instance_type, place.zone, op.clock.now(), place.market)
    return op.write(
        replace(
            record,
            attempt=attempt,
            intent=intent,
            phase="launching",
            endpoint=replace(record.endpoint, instance_type=place.instance_type),
            access=replace(record.access, user=image.login if spec.access.user == "auto" else spec.access.user),
        )
    )


def _try(op: Operation, plan: Launch, record: Record, place: Place, image: Image) -> Launched:
    assert record.intent is not None
    intent = record.intent
    spec, _ = ec2_parts(plan.deployment)
    tags = TagSet(op.names.stack, intent.generation, plan.desired.spec_digest, record.expires_at, spec.tags)
    request = build(
        place,
        names=op.names,
        image=image,
        group=plan.group,
        tags=tags,
        launch_digest=plan.desired.launch_digest,
        program=plan.desired.program.mark,
        token=intent.token,
        user_data=_user_data(op, place, intent.generation, record.expires_at),
    )
    launched_in: Place | None = place
    try:
        instance_id = parallel.shielded(lambda: _run(op, request))
    except AwsError as error:
        if error.aws_code != "IdempotentParameterMismatch":
            raise
        # The interrupted launch did reach AWS, with other parameters: its instance is there.
        instance_id, launched_in = _found_by_mark(op, intent.token), None
    done = replace(
        record.with_id("instance", instance_id),
        intent=None,
        phase="booting",
        launched_at=op.clock.now(),
        generation=intent.generation,
        launch_digest=plan.desired.launch_digest if launched_in else "",
    )
    return Launched(op.write(done), instance_id, launched_in)


def _run(op: Operation, request: Mapping[str, object]) -> str:
    return retry_while(
        lambda: instance.launch(op.aws, request),
        _fresh_reference,
        clock=op.clock,
        deadline_seconds=FRESH_SECONDS,
        what="EC2 sees the new instance profile, group and key pair",
        emit=op.emit,
        keep_alive=op.lease.check,
    )


def _fresh_reference(error: AwsError) -> bool:
    """EC2 does not see yet what we made a moment ago; a profile shows as a parameter error."""
    profile = error.aws_code == "InvalidParameterValue" and "iam instance profile" in error.message.lower()
    return profile or not_seen_yet(error)


def _found_by_mark(op: Operation, token: str) -> str:
    def look() -> Look[str]:
        found = instance.by_launch(op.aws, op.names.stack, token)
        return Look("not visible yet") if found is None else Look(found.id, done=True, value=found.id)

    found = wait_until(
        look,
        clock=op.clock,
        deadline_seconds=FRESH_SECONDS,
        what="the instance of the interrupted launch becomes visible",
        emit=op.emit,
        keep_alive=op.lease.check,
    )
    assert found is not None
    return found


def _image_for(op: Operation, plan: Launch, place: Place) -> Image:
    """The image of the spec's type, unless this type is of another architecture or differs in having a GPU."""
    first, this = plan.deployment.hardware, place.deployment.hardware
    if (first.architecture, first.gpu is None) == (this.architecture, this.gpu is None):
        return plan.image
    spec, _ = ec2_parts(plan.deployment)
    return images.find(op.aws, spec.instance.ami, this)


def _user_data(op: Operation, place: Place, generation: int, expires_at: float | None) -> bytes:
    from deployer.render.agent_config import LaunchFacts
    from deployer.render.user_data import render_user_data

    facts = LaunchFacts(
        api_key_parameter=op.names.api_key,
        generation=generation,
        expires_at=expires_at,
        ssm_endpoint=partitions.endpoint(op.aws.partition, "ssm", op.aws.region),
        programs_path=op.names.programs,
        record=op.names.record,
        spot=place.market == "spot",
    )
    return render_user_data(place.deployment, facts).gzipped


def _tell(op: Operation, attempt: Attempt) -> Attempt:
    op.emit(Event("attempt", attempt.as_dict()))
    return attempt
