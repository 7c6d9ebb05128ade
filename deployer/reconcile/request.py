"""The RunInstances request, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deployer.aws.images import Image
from deployer.aws.names import Names
from deployer.aws.network import Subnet
from deployer.aws.resources.instance import launch_mark
from deployer.aws.tags import LAUNCH, LAUNCH_DIGEST, PROGRAM, TagSet, specification
from deployer.decide.types import Deployment
from deployer.reconcile.desired import ec2_parts, metadata_hops
from deployer.spec.models import Ec2Stack
from deployer.spec.network import PrivateEndpoint


@dataclass(frozen=True)
class Place:
    """Where and as what to try. deployment: decided for this very instance type. market: spot or on-demand."""

    deployment: Deployment
    subnet: Subnet
    market: str

    @property
    def instance_type(self) -> str:
        """The EC2 type."""
        return self.deployment.hardware.name

    @property
    def zone(self) -> str:
        """The availability zone."""
        return self.subnet.zone


def build(
    place: Place,
    *,
    names: Names,
    image: Image,
    group: str,
    tags: TagSet,
    launch_digest: str,
    program: str,
    token: str,
    user_data: bytes,
) -> dict[str, Any]:
    """Parameters of RunInstances. group: the security group's id. user_data: gzipped, raw.

    program: the mark of the agent's program that the instance will fetch.
    """
    spec, _ = ec2_parts(place.deployment)
    launch = {LAUNCH_DIGEST: launch_digest, LAUNCH: launch_mark(token), PROGRAM: program}
    marks = tags.as_dict(Name=names.instance, **launch)
    request: dict[str, Any] = {
        "ClientToken": token,
        "MinCount": 1,
        "MaxCount": 1,
        "ImageId": image.id,
        "InstanceType": place.instance_type,
        "KeyName": names.key_pair,
        "IamInstanceProfile": {"Name": names.instance_profile},
        "UserData": user_data,
        "InstanceInitiatedShutdownBehavior": "terminate",
        "MetadataOptions": {
            "HttpTokens": "required",
            "HttpEndpoint": "enabled",
            "HttpPutResponseHopLimit": metadata_hops(place.deployment),
        },
        "BlockDeviceMappings": [{"DeviceName": image.root_device, "Ebs": _root_volume(place.deployment, spec, image)}],
        "TagSpecifications": [specification(kind, marks) for kind in ("instance", "volume", "network-interface")],
    }
    if place.market == "spot":
        request["InstanceMarketOptions"] = {
            "MarketType": "spot",
            "SpotOptions": {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"},
        }
    if needs_public_address(spec) and not place.subnet.public:
        interface = {
            "DeviceIndex": 0,
            "SubnetId": place.subnet.id,
            "Groups": [group],
            "AssociatePublicIpAddress": True,
        }
        return {**request, "NetworkInterfaces": [interface]}
    return {**request, "SubnetId": place.subnet.id, "SecurityGroupIds": [group]}


def needs_public_address(spec: Ec2Stack) -> bool:
    """Clients and SSH come from outside, unless the endpoint is private or a bastion leads in."""
    return not isinstance(spec.endpoint, PrivateEndpoint) and spec.access.bastion is None


def _root_volume(deployment: Deployment, spec: Ec2Stack, image: Image) -> dict[str, Any]:
    volume: dict[str, Any] = {
        "VolumeSize": max(deployment.root_volume_gib, image.smallest_gib),
        "VolumeType": "gp3",
        "Encrypted": True,
        "DeleteOnTermination": True,
    }
    root = spec.instance.root_volume
    if root.iops is not None:
        volume["Iops"] = root.iops
    if root.throughput_mibs is not None:
        volume["Throughput"] = root.throughput_mibs
    return volume
