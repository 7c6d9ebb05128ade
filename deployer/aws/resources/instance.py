"""The instance: what AWS shows of it, and the calls that start, launch and end it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from deployer.aws import errors
from deployer.aws.session import Aws
from deployer.aws.tags import LAUNCH, LAUNCH_DIGEST, STACK, from_aws, generation_of, is_ours, stack_filter
from deployer.errors import AwsError

#: States in which an instance is, or may come back to be, ours to keep.
LIVE = frozenset({"pending", "running", "stopping", "stopped"})
#: Status codes of a spot request from the notice on (EC2 user guide, "Spot request status codes").
_MARKED = frozenset({"marked-for-termination", "marked-for-stop", "marked-for-stop-by-experiment"})
#: Why an instance ended, for people: AWS's code in the reason it gives.
_ENDS = {
    "Server.SpotInstanceTermination": "AWS took the spot instance back",
    "Client.InstanceInitiatedShutdown": "it ended itself: lifetime.ttl, lifetime.idle or a shutdown on it",
}


@dataclass(frozen=True)
class Instance:
    """One instance. launch: the mark of the call that made it. reason: why AWS ended it, when it did.

    market: spot or on-demand. interrupted: AWS has given notice that it takes the spot instance back.
    """

    id: str
    state: str
    type: str
    zone: str
    ours: bool
    generation: int
    launch_digest: str | None
    launch: str | None
    image: str
    launched_at: float
    public_address: str | None
    private_address: str | None
    reason: str | None
    tags: Mapping[str, str]
    market: str = "on-demand"
    interrupted: bool = False

    @property
    def address(self) -> str | None:
        """Where clients outside the VPC reach it, else its address inside."""
        return self.public_address or self.private_address

    @property
    def live(self) -> bool:
        """Not terminated and not on the way there."""
        return self.state in LIVE


def client_token(account: str, region: str, stack: str, uid: str, generation: int, attempt: int) -> str:
    """The deterministic ClientToken: the same launch, tried again, is the same instance.

    uid is the record's random id: EC2 answers a token that was used before with that (terminated) instance, so the
    stack's name alone would make a second life of the stack impossible.
    """
    text = "\n".join([account, region, stack, uid, str(generation), "instance", str(attempt)])
    return hashlib.sha256(text.encode()).hexdigest()[:64]


def observe(aws: Aws, stack: str) -> list[Instance]:
    """Every instance that carries the stack's tag, terminated ones too while AWS shows them, oldest first."""
    return _described(aws, stack, Filters=stack_filter(stack))


def with_notices(aws: Aws, instances: Iterable[Instance]) -> list[Instance]:
    """The same; those on spot with what their requests say of an interruption. Who may not look sees none."""
    found = list(instances)
    spot = [one.id for one in found if one.live and one.market == "spot"]
    filters = [{"Name": "instance-id", "Values": spot}]
    try:
        answer = aws.call("ec2", "DescribeSpotInstanceRequests", Filters=filters) if spot else {}
    except AwsError as error:
        if errors.meaning(error.aws_code) != "permission":
            raise
        return found
    requests = answer.get("SpotInstanceRequests", ())
    marked = {str(one.get("InstanceId")) for one in requests if one.get("Status", {}).get("Code") in _MARKED}
    return [replace(one, interrupted=one.id in marked) for one in found]


def of_every_stack(aws: Aws) -> dict[str, Instance]:
    """Stack -> its newest instance that is not terminated, by the tags alone."""
    filters = [
        {"Name": "tag-key", "Values": [STACK]},
        {"Name": "instance-state-name", "Values": sorted(LIVE | {"shutting-down"})},
    ]
    pages = list(aws.pages("ec2", "DescribeInstances", "Reservations", Filters=filters))
    found = [one for group in pages for one in group["Instances"]]
    tagged = [_instance(one, from_aws(one.get("Tags"))[STACK]) for one in found]
    return {one.tags[STACK]: one for one in sorted(tagged, key=lambda one: (one.live, one.launched_at, one.id))}


def launch_mark(token: str) -> str:
    """The value of the tag that ties an instance to the call that made it, set by that very call."""
    return token[:16]


def by_launch(aws: Aws, stack: str, token: str) -> Instance | None:
    """The instance that the RunInstances call with this ClientToken made, when AWS shows it already."""
    found = _described(aws, stack, Filters=[{"Name": f"tag:{LAUNCH}", "Values": [launch_mark(token)]}])
    return found[-1] if found else None


def by_ids(aws: Aws, stack: str, ids: Iterable[str]) -> dict[str, Instance]:
    """Id -> instance, without those that AWS does not show."""
    wanted = sorted(ids)
    found = _described(aws, stack, Filters=[{"Name": "instance-id", "Values": wanted}]) if wanted else []
    return {one.id: one for one in found}


def by_id(aws: Aws, stack: str, instance_id: str) -> Instance | None:
    """The instance, or None when AWS does not show it (not yet, or not any more)."""
    answer = aws.call_unless("not_found", "ec2", "DescribeInstances", InstanceIds=[instance_id])
    found = [] if answer is None else _instances(answer, stack)
    return found[0] if found else None


def launch(aws: Aws, request: Mapping[str, Any]) -> str:
    """RunInstances; the id of the one instance."""
    return str(aws.call("ec2", "RunInstances", **request)["Instances"][0]["InstanceId"])


def start(aws: Aws, instance_id: str) -> None:
    """Start a stopped instance."""
    aws.call("ec2", "StartInstances", InstanceIds=[instance_id])


def terminate(aws: Aws, instance_ids: list[str]) -> None:
    """Terminate; ids that are gone already do no harm."""
    for instance_id in instance_ids:
        aws.call_unless("not_found", "ec2", "TerminateInstances", InstanceIds=[instance_id])


def console(aws: Aws, instance_id: str) -> str:
    """The newest serial console output, empty before there is any."""
    answer = aws.call_unless("not_found", "ec2", "GetConsoleOutput", InstanceId=instance_id, Latest=True)
    return "" if answer is None else str(answer.get("Output") or "")


def _described(aws: Aws, stack: str, **parameters: Any) -> list[Instance]:
    pages = aws.pages("ec2", "DescribeInstances", "Reservations", **parameters)
    found = _instances({"Reservations": list(pages)}, stack)
    return sorted(found, key=lambda instance: (instance.launched_at, instance.id))


def _instances(answer: Mapping[str, Any], stack: str) -> list[Instance]:
    return [_instance(one, stack) for group in answer.get("Reservations", ()) for one in group["Instances"]]


def _instance(found: Mapping[str, Any], stack: str) -> Instance:
    tags = from_aws(found.get("Tags"))
    launched = found.get("LaunchTime")
    reason = found.get("StateReason", {}).get("Message") or found.get("StateTransitionReason")
    return Instance(
        id=str(found["InstanceId"]),
        state=str(found["State"]["Name"]),
        type=str(found.get("InstanceType", "")),
        zone=str(found.get("Placement", {}).get("AvailabilityZone", "")),
        ours=is_ours(tags, stack),
        generation=generation_of(tags),
        launch_digest=tags.get(LAUNCH_DIGEST),
        launch=tags.get(LAUNCH),
        image=str(found.get("ImageId", "")),
        launched_at=launched.timestamp() if isinstance(launched, datetime) else 0.0,
        public_address=found.get("PublicIpAddress") or None,
        private_address=found.get("PrivateIpAddress") or None,
        reason=_ENDS.get(str(found.get("StateReason", {}).get("Code")), reason) or None,
        market="spot" if found.get("InstanceLifecycle") == "spot" else "on-demand",
        tags=tags,
    )
