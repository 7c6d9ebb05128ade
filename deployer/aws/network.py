"""Where an instance can be put: the VPC, its subnets, and the zones that offer a type. All of it is the user's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deployer.aws.session import Aws
from deployer.errors import RefusedError
from deployer.spec.network import NetworkSpec


@dataclass(frozen=True)
class Subnet:
    """public: instances get a public address by default."""

    id: str
    zone: str
    public: bool


@dataclass(frozen=True)
class Network:
    """The VPC and the subnets we may choose from."""

    vpc: str
    subnets: tuple[Subnet, ...]

    def in_zone(self, zone: str) -> Subnet | None:
        """The subnet to use in a zone, one with public addresses first; ties go to the lowest id."""
        there = sorted((s for s in self.subnets if s.zone == zone), key=lambda s: (not s.public, s.id))
        return there[0] if there else None


def find(aws: Aws, spec: NetworkSpec) -> Network:
    """The spec's subnet, the spec's VPC, or the default VPC. Raises RefusedError when there is nothing to choose."""
    if spec.subnet is not None:
        answer = aws.call("ec2", "DescribeSubnets", SubnetIds=[spec.subnet])
        found = answer["Subnets"][0]
        if spec.vpc is not None and found["VpcId"] != spec.vpc:
            raise RefusedError(
                f"subnet {spec.subnet} lies in {found['VpcId']}, not in {spec.vpc}",
                where="network.subnet",
                hint="leave network.vpc out when network.subnet is given",
            )
        return Network(str(found["VpcId"]), (_subnet(found),))
    vpc = spec.vpc or _default_vpc(aws)
    filters = [{"Name": "vpc-id", "Values": [vpc]}]
    subnets = tuple(_subnet(s) for s in aws.pages("ec2", "DescribeSubnets", "Subnets", Filters=filters))
    if not subnets:
        raise RefusedError(f"{vpc} has no subnet", where="network.vpc", hint="make one, or name another network.vpc")
    return Network(vpc, subnets)


def offering_zones(aws: Aws, types: Sequence[str]) -> dict[str, list[str]]:
    """Instance type -> the zones that offer it, sorted. A type offered nowhere in the region has an empty list."""
    zones: dict[str, list[str]] = {name: [] for name in types}
    offerings = aws.pages(
        "ec2",
        "DescribeInstanceTypeOfferings",
        "InstanceTypeOfferings",
        LocationType="availability-zone",
        Filters=[{"Name": "instance-type", "Values": list(dict.fromkeys(types))}],
    )
    for offering in offerings:
        zones.setdefault(str(offering["InstanceType"]), []).append(str(offering["Location"]))
    return {name: sorted(set(places)) for name, places in zones.items()}


def _default_vpc(aws: Aws) -> str:
    vpcs = aws.call("ec2", "DescribeVpcs", Filters=[{"Name": "is-default", "Values": ["true"]}])["Vpcs"]
    if not vpcs:
        raise RefusedError(
            f"{aws.region} has no default VPC in this account",
            where="ec2:DescribeVpcs",
            hint="name one in the spec: network.vpc, or network.subnet",
        )
    return str(vpcs[0]["VpcId"])


def _subnet(found: dict[str, object]) -> Subnet:
    return Subnet(str(found["SubnetId"]), str(found["AvailabilityZone"]), bool(found.get("MapPublicIpOnLaunch")))
