"""Everything in a region that carries our tag or lies under our names, by stack: also what no record tells of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from deployer.aws import tags
from deployer.aws.names import KEYS_PATH, LEASES_PATH, PROGRAMS_PATH, RECORDS_PATH
from deployer.aws.resources.instance import LIVE
from deployer.aws.session import Aws
from deployer.aws.tags import STACK, from_aws
from deployer.errors import RefusedError
from deployer.reconcile import parallel
from deployer.reconcile.lease import Hold, parse_hold
from deployer.reconcile.record import Record, parse

#: The root of every parameter of ours.
_PARAMETERS = "/deployer"
_OURS = tuple(f"{path}/" for path in (RECORDS_PATH, LEASES_PATH, KEYS_PATH, PROGRAMS_PATH))
_OWNED: dict[str, Any] = {"Filters": [{"Name": "tag-key", "Values": [STACK]}]}


@dataclass(frozen=True)
class Thing:
    """One resource of a stack. since: seconds since the epoch when it was made, 0 where AWS does not say.

    instance_type, market: of an instance. expires_at: by its tag. size_gib: of a volume.
    """

    kind: str
    id: str
    since: float = 0.0
    state: str = ""
    instance_type: str | None = None
    market: str | None = None
    size_gib: int | None = None
    expires_at: float | None = None


@dataclass
class Holdings:
    """What one stack has. record None: there is none, or nobody can read it (has_record tells)."""

    stack: str
    things: list[Thing] = field(default_factory=list)
    record: Record | None = None
    has_record: bool = False
    lease: Hold | None = None

    @property
    def instances(self) -> list[Thing]:
        """Those that are not terminated."""
        return [thing for thing in self.things if thing.kind == "instance"]


def census(aws: Aws) -> dict[str, Holdings]:
    """Stack -> what it has. A name alone makes nothing ours: EC2 and IAM things count by their tag.

    Raises AwsError when a look is not allowed: half a census would call living stacks orphans.
    """
    looks: dict[str, Callable[[], list[tuple[str, Thing]]]] = {
        "instances": lambda: list(_instances(aws)),
        "volumes": lambda: list(_volumes(aws)),
        "interfaces": lambda: list(_interfaces(aws)),
        "groups": lambda: list(_groups(aws)),
        "keys": lambda: list(_key_pairs(aws)),
        "roles": lambda: list(_roles(aws)),
        "profiles": lambda: list(_profiles(aws)),
    }
    also: dict[str, Callable[[], Any]] = {"parameters": lambda: list(_parameters(aws))}
    seen: dict[str, Any] = parallel.gather({**looks, **also})
    found: dict[str, Holdings] = {}

    def of(stack: str) -> Holdings:
        return found.setdefault(stack, Holdings(stack))

    for look in looks:
        for stack, thing in seen[look]:
            of(stack).things.append(thing)
    for name, value, since in seen["parameters"]:
        _file_parameter(of, name, value, since)
    return found


def _file_parameter(of: Callable[[str], Holdings], name: str, value: str, since: float) -> None:
    """One parameter to its stack: the record, a lease, or one thing more."""
    parts = name.removeprefix(f"{_PARAMETERS}/").split("/")
    if len(parts) < 2:
        return
    holdings = of(parts[1])
    if name.startswith(f"{RECORDS_PATH}/"):
        holdings.has_record = True
        try:
            holdings.record = parse(parts[1], value)
        except RefusedError:
            holdings.record = None
    elif name.startswith(f"{LEASES_PATH}/"):
        hold = parse_hold(name, value)
        if hold is not None and (holdings.lease is None or hold.number > holdings.lease.number):
            holdings.lease = hold
    else:
        holdings.things.append(Thing("parameter", name, since))


def _parameters(aws: Aws) -> Iterator[tuple[str, str, float]]:
    """Name, value and time of every parameter of ours. SecureStrings come encrypted: nobody needs to see them here."""
    ours: dict[str, Any] = {"Path": _PARAMETERS, "Recursive": True, "MaxResults": 10}
    for one in aws.pages("ssm", "GetParametersByPath", "Parameters", **ours):
        name = str(one["Name"])
        if name.startswith(_OURS):
            yield name, str(one["Value"]), _seconds(one.get("LastModifiedDate"))


def _instances(aws: Aws) -> Iterator[tuple[str, Thing]]:
    states = {"Name": "instance-state-name", "Values": sorted(LIVE | {"shutting-down"})}
    filters = [*_OWNED["Filters"], states]
    for group in aws.pages("ec2", "DescribeInstances", "Reservations", Filters=filters):
        for one in group["Instances"]:
            mine = from_aws(one.get("Tags"))
            yield (
                mine[STACK],
                Thing(
                    "instance",
                    str(one["InstanceId"]),
                    _seconds(one.get("LaunchTime")),
                    str(one["State"]["Name"]),
                    instance_type=str(one["InstanceType"]),
                    market="spot" if one.get("InstanceLifecycle") == "spot" else "on-demand",
                    expires_at=tags.expires_at(mine),
                ),
            )


def _volumes(aws: Aws) -> Iterator[tuple[str, Thing]]:
    for one in aws.pages("ec2", "DescribeVolumes", "Volumes", **_OWNED):
        if one.get("State") not in ("deleting", "deleted"):
            size, state = int(one.get("Size", 0)), str(one.get("State"))
            made = _seconds(one.get("CreateTime"))
            yield from_aws(one["Tags"])[STACK], Thing("volume", str(one["VolumeId"]), made, state, size_gib=size)


def _interfaces(aws: Aws) -> Iterator[tuple[str, Thing]]:
    for one in aws.pages("ec2", "DescribeNetworkInterfaces", "NetworkInterfaces", **_OWNED):
        mine = from_aws(one.get("TagSet") or one.get("Tags"))
        if STACK in mine:
            yield mine[STACK], Thing("network-interface", str(one["NetworkInterfaceId"]), state=str(one.get("Status")))


def _groups(aws: Aws) -> Iterator[tuple[str, Thing]]:
    for one in aws.pages("ec2", "DescribeSecurityGroups", "SecurityGroups", **_OWNED):
        yield from_aws(one["Tags"])[STACK], Thing("security-group", str(one["GroupId"]))


def _key_pairs(aws: Aws) -> Iterator[tuple[str, Thing]]:
    for one in aws.call("ec2", "DescribeKeyPairs", **_OWNED).get("KeyPairs", ()):
        yield from_aws(one["Tags"])[STACK], Thing("key-pair", str(one["KeyName"]), _seconds(one.get("CreateTime")))


def _roles(aws: Aws) -> Iterator[tuple[str, Thing]]:
    yield from _identities(aws, "ListRoles", "Roles", "RoleName", "role", "GetRole")


def _profiles(aws: Aws) -> Iterator[tuple[str, Thing]]:
    names = ("ListInstanceProfiles", "InstanceProfiles", "InstanceProfileName", "profile", "GetInstanceProfile")
    yield from _identities(aws, *names)


def _identities(aws: Aws, listing: str, items: str, key: str, word: str, look: str) -> Iterator[tuple[str, Thing]]:
    """IAM lists without tags and for the whole partition: by our pattern of names and this region, then by tag."""
    pattern = re.compile(rf"deployer-([a-z][a-z0-9-]*)-{word}-{re.escape(aws.region)}")
    kind = "role" if word == "role" else "instance-profile"
    for one in _iam_pages(aws, listing, items):
        name = str(one[key])
        match = pattern.fullmatch(name)
        if match is None:
            continue
        answer = aws.call_unless("not_found", "iam", look, **{key: name}) or {}
        if tags.is_ours(from_aws(answer.get(look.removeprefix("Get"), {}).get("Tags")), match.group(1)):
            yield match.group(1), Thing(kind, name, _seconds(one.get("CreateDate")))


def _iam_pages(aws: Aws, operation: str, items: str) -> Iterator[Any]:
    """IAM pages with Marker, not NextToken."""
    more: dict[str, str] = {}
    while True:
        page = aws.call("iam", operation, **more)
        yield from page.get(items, ())
        if not page.get("IsTruncated"):
            return
        more = {"Marker": str(page["Marker"])}


def _seconds(when: object) -> float:
    match when:
        case datetime():
            return when.timestamp()
        case str():
            return datetime.fromisoformat(when.replace("Z", "+00:00")).timestamp()
        case _:
            return 0.0
