"""The security group: SSH from the operator, the endpoint's port from the networks the spec allows, nothing else."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from deployer.aws.names import Names
from deployer.aws.session import Aws
from deployer.aws.tags import TagSet, from_aws, is_ours, specification, stack_filter


@dataclass(frozen=True, order=True)
class Rule:
    """TCP from one network to one port."""

    port: int
    cidr: str

    def __str__(self) -> str:
        return f"tcp {self.port} from {self.cidr}"


@dataclass(frozen=True)
class SecurityGroup:
    """A group under our name. strange: permissions (JSON) of a form that we never make."""

    id: str
    name: str
    vpc: str
    ours: bool
    rules: frozenset[Rule]
    strange: tuple[str, ...] = ()


def observe(aws: Aws, names: Names) -> list[SecurityGroup]:
    """Every group that has our name or our tag, in any VPC of the region."""
    by_name = [{"Name": "group-name", "Values": [names.security_group]}]
    found: dict[str, SecurityGroup] = {}
    for filters in (by_name, stack_filter(names.stack)):
        for group in aws.pages("ec2", "DescribeSecurityGroups", "SecurityGroups", Filters=filters):
            found[str(group["GroupId"])] = _group(group, names.stack)
    return sorted(found.values(), key=lambda group: group.id)


def create(aws: Aws, names: Names, tags: TagSet, vpc: str) -> str | None:
    """Create an empty group and return its id, or None when one of this name exists in the VPC."""
    answer = aws.call_unless(
        "exists",
        "ec2",
        "CreateSecurityGroup",
        GroupName=names.security_group,
        Description=f"deployer stack {names.stack}",
        VpcId=vpc,
        TagSpecifications=[specification("security-group", tags.as_dict(Name=names.security_group))],
    )
    return None if answer is None else str(answer["GroupId"])


def allow(aws: Aws, group: str, rules: Iterable[Rule]) -> None:
    """Add rules; those that are there already do no harm."""
    for rule in sorted(rules):
        wanted = [_permission(rule)]
        aws.call_unless("exists", "ec2", "AuthorizeSecurityGroupIngress", GroupId=group, IpPermissions=wanted)


def revoke(aws: Aws, group: str, rules: Iterable[Rule], strange: Iterable[str] = ()) -> None:
    """Take rules away; those that are gone already do no harm."""
    permissions = [_permission(rule) for rule in sorted(rules)] + [json.loads(text) for text in strange]
    for permission in permissions:
        gone = [permission]
        aws.call_unless("not_found", "ec2", "RevokeSecurityGroupIngress", GroupId=group, IpPermissions=gone)


def delete(aws: Aws, group: str) -> bool:
    """Delete it; False when it was gone. Raises AwsError (dependency) while something uses it."""
    return aws.call_unless("not_found", "ec2", "DeleteSecurityGroup", GroupId=group) is not None


def _permission(rule: Rule) -> dict[str, Any]:
    version = ipaddress.ip_network(rule.cidr, strict=False).version
    ranges = {"IpRanges": [{"CidrIp": rule.cidr}]} if version == 4 else {"Ipv6Ranges": [{"CidrIpv6": rule.cidr}]}
    return {"IpProtocol": "tcp", "FromPort": rule.port, "ToPort": rule.port, **ranges}


def _group(found: dict[str, Any], stack: str) -> SecurityGroup:
    rules: set[Rule] = set()
    strange: list[str] = []
    for permission in found.get("IpPermissions", ()):
        rest = {key: value for key, value in permission.items() if value}
        if permission.get("IpProtocol") == "tcp" and permission.get("FromPort") == permission.get("ToPort"):
            port = int(permission["FromPort"])
            rules.update(Rule(port, str(r["CidrIp"])) for r in rest.pop("IpRanges", ()))
            rules.update(Rule(port, str(r["CidrIpv6"])) for r in rest.pop("Ipv6Ranges", ()))
        if set(rest) - {"IpProtocol", "FromPort", "ToPort"}:
            strange.append(json.dumps(rest, sort_keys=True))
    return SecurityGroup(
        id=str(found["GroupId"]),
        name=str(found["GroupName"]),
        vpc=str(found.get("VpcId", "")),
        ours=is_ours(from_aws(found.get("Tags")), stack),
        rules=frozenset(rules),
        strange=tuple(sorted(strange)),
    )
