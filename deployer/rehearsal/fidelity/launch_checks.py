"""What RunInstances checks before it does anything (E6). Codes are documented; wordings are recalled, not captured."""

from __future__ import annotations

from typing import Any

from deployer.catalog import hardware
from deployer.catalog.types import Hardware
from deployer.rehearsal.fidelity.call import Call, Proceed, Refusal, Reply
from deployer.rehearsal.fidelity.offerings import REGION_ZONES, zones_of
from deployer.rehearsal.fidelity.world import World


class LaunchChecks:
    """Image, type, zone, architecture, key pair, subnet, groups and root disk; also picks a zone as EC2 does."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """The rule."""
        if not call.is_("ec2", "RunInstances") or any(key.startswith("LaunchTemplate.") for key in call.form):
            return proceed(call)
        from moto.ec2.models import ec2_backends

        backend = ec2_backends[self._world.account][call.region]
        image = _image(backend, call)
        name = call.form.get("InstanceType", "")
        facts = hardware.lookup(name)
        if facts is None:
            raise Refusal("InvalidParameterValue", f"Invalid value '{name}' for InstanceType.")
        _architecture(facts, image)
        _key(backend, call)
        subnet = _subnet(backend, call)
        _groups(backend, call, subnet)
        _root_disk(call, image)
        zone = _zone(call, subnet, name)
        # moto launches the smaller number; EC2 launches as many as it can.
        most = call.form.get("MaxCount", "1")
        changes = {"MinCount": most} if subnet else {"MinCount": most, "Placement__AvailabilityZone": zone}
        return proceed(call.with_form(**changes))


def _image(backend: Any, call: Call) -> Any:
    wanted = call.form.get("ImageId", "")
    if not wanted.startswith("ami-"):
        raise Refusal("InvalidAMIID.Malformed", f'Invalid id: "{wanted}" (expecting "ami-...")')
    image = backend.amis.get(wanted)
    if image is None:
        raise Refusal("InvalidAMIID.NotFound", f"The image id '[{wanted}]' does not exist")
    return image


def _architecture(facts: Hardware, image: Any) -> None:
    if facts.architecture != image.architecture:
        raise Refusal(
            "InvalidParameterValue",
            f"The architecture '{facts.architecture}' of the specified instance type does not match the architecture "
            f"'{image.architecture}' of the specified AMI. Specify an instance type and an AMI that have matching "
            "architectures, and try again.",
        )


def _key(backend: Any, call: Call) -> None:
    key = call.form.get("KeyName")
    if key and key not in backend.key_pairs:
        raise Refusal("InvalidKeyPair.NotFound", f"The key pair '{key}' does not exist")


def _subnet(backend: Any, call: Call) -> Any | None:
    wanted = call.form.get("SubnetId") or call.form.get("NetworkInterface.1.SubnetId")
    if not wanted:
        return None
    for by_zone in backend.subnets.values():
        if wanted in by_zone:
            return by_zone[wanted]
    raise Refusal("InvalidSubnetID.NotFound", f"The subnet ID '{wanted}' does not exist")


def _groups(backend: Any, call: Call, subnet: Any | None) -> None:
    wanted = [*call.listed("SecurityGroupId"), *call.listed("NetworkInterface.1.SecurityGroupId")]
    for group_id in wanted:
        group = backend.get_security_group_from_id(group_id)
        if group is None:
            raise Refusal("InvalidGroup.NotFound", f"The security group '{group_id}' does not exist")
        if subnet is not None and group.vpc_id != subnet.vpc_id:
            raise Refusal(
                "InvalidParameter", f"Security group {group_id} and subnet {subnet.id} belong to different networks."
            )


def _root_disk(call: Call, image: Any) -> None:
    index = 1
    least = image.block_device_mappings[0]["Ebs"]
    while device := call.form.get(f"BlockDeviceMapping.{index}.DeviceName"):
        size = call.form.get(f"BlockDeviceMapping.{index}.Ebs.VolumeSize")
        if device == image.root_device_name and size and int(size) < least["VolumeSize"]:
            raise Refusal(
                "InvalidBlockDeviceMapping",
                f"Volume of size {size}GB is smaller than snapshot '{least['SnapshotId']}', "
                f"expect size >= {least['VolumeSize']}GB",
            )
        index += 1


def _zone(call: Call, subnet: Any | None, name: str) -> str:
    """The zone of the launch, EC2's own choice when the request leaves it open."""
    zones = zones_of(name, call.region)
    if call.region not in REGION_ZONES:
        return str(subnet.availability_zone) if subnet else call.region + "a"
    if not zones:
        raise Refusal(
            "Unsupported",
            "The requested configuration is currently not supported. "
            "Please check the documentation for supported configurations.",
        )
    asked = subnet.availability_zone if subnet else call.form.get("Placement.AvailabilityZone")
    if asked and asked not in zones:
        raise Refusal(
            "Unsupported",
            f"Your requested instance type ({name}) is not supported in your requested Availability Zone ({asked}). "
            f"Please retry your request by not specifying an Availability Zone or choosing {', '.join(zones)}.",
        )
    return str(asked or zones[0])
