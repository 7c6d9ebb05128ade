"""What RunInstances really makes of a request and moto does not: addresses, defaults, tags, disks (E11, E16).

moto's `run_instances` is wrapped on the one backend object of this account and region, so that the answer it
writes already shows the instance as it will be.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from deployer.catalog import hardware
from deployer.catalog.types import Hardware
from deployer.errors import CapacityError
from deployer.rehearsal.fidelity.call import Refusal
from deployer.rehearsal.fidelity.fleet import Fleet
from deployer.rehearsal.fidelity.metadata import metadata
from deployer.rehearsal.fidelity.regional import partition_of
from deployer.rehearsal.fidelity.tags import tag_specifications
from deployer.rehearsal.fidelity.world import World
from deployer.rehearsal.machines.base import MachineLaunch

#: What a gp3 volume has when the request does not say (MiB/s).
GP3_THROUGHPUT = 125


def install(world: World, fleet: Fleet, backend: Any) -> None:
    """From now on instances launched through this backend get a machine."""
    original: Callable[..., Any] = backend.run_instances

    def run_instances(image_id: str, count: int, user_data: Any, groups: list[str], **options: Any) -> Any:
        _fill_from_template(backend, options)
        addresses = _addresses(world, count)
        reservation = original(image_id, count, user_data, groups, **options)
        for instance, address in zip(reservation.instances, addresses, strict=True):
            _finish(world, fleet, backend, instance, address, options)
        return reservation

    backend.run_instances = run_instances


def _addresses(world: World, count: int) -> list[str]:
    """Taken before anything is made: this host's addresses are its capacity."""
    try:
        return [world.hypervisor.allocate_address() for _ in range(count)]
    except CapacityError as error:
        raise Refusal("InsufficientInstanceCapacity", error.message, 500) from error


def _fill_from_template(backend: Any, options: dict[str, Any]) -> None:
    template = options.get("launch_template")
    if template and not options.get("metadata_options"):
        data = backend._get_template_from_args(template).data
        options["metadata_options"] = data.get("MetadataOptions") or {}


def _finish(world: World, fleet: Fleet, backend: Any, instance: Any, address: str, options: Mapping[str, Any]) -> None:
    form = world.current.form if world.current else {}
    for volume in _volumes(backend, instance):
        _finish_volume(form, instance, volume)
    tags = tag_specifications(form)
    for interface in instance.nics.values():
        # The primary interface made by a launch goes with its instance unless the request says otherwise.
        interface.delete_on_termination = True
        interface.add_tags(tags.get("network-interface", {}))
        interface.private_ip_address = address
        interface.private_ip_addresses = [{"Primary": True, "PrivateIpAddress": address}]
        if interface.public_ip:
            interface.public_ip = address
    fleet.adopt(instance, _machine(world, backend, instance, address, options))


def _volumes(backend: Any, instance: Any) -> list[Any]:
    return [
        backend.volumes[device.volume_id]
        for _, device in instance.get_block_device_mapping
        if device.volume_id in backend.volumes
    ]


def _finish_volume(form: Mapping[str, str], instance: Any, volume: Any) -> None:
    device = next(name for name, block in instance.get_block_device_mapping if block.volume_id == volume.id)
    ebs = _ebs_of(form, device)
    if device == instance.root_device_name and "DeleteOnTermination" not in ebs:
        instance.block_device_mapping[device].delete_on_termination = True
    if volume.volume_type == "gp3":
        volume.iops = int(ebs.get("Iops") or volume.iops)
        volume.throughput = int(ebs.get("Throughput") or GP3_THROUGHPUT)


def _ebs_of(form: Mapping[str, str], device: str) -> dict[str, str]:
    """The `Ebs` members that the request gives for a device name."""
    for key, value in form.items():
        if key.startswith("BlockDeviceMapping.") and key.endswith(".DeviceName") and value == device:
            prefix = key.removesuffix("DeviceName") + "Ebs."
            return {k.removeprefix(prefix): v for k, v in form.items() if k.startswith(prefix)}
    return {}


def _machine(world: World, backend: Any, instance: Any, address: str, options: Mapping[str, Any]) -> MachineLaunch:
    region = backend.region_name
    partition = partition_of(region)
    key = backend.key_pairs.get(instance.key_name)
    facts: Hardware | None = hardware.lookup(instance.instance_type)
    text = str(instance.user_data) if instance.user_data else ""
    return MachineLaunch(
        instance_id=instance.id,
        address=address,
        user_data=base64.b64decode(text),
        metadata=metadata(
            instance,
            region=region,
            suffix=partition.dns_suffix,
            partition=partition.name,
            public_key=key.public_key.strip() if key else None,
            role=_role(world, backend, options),
            clock=world.clock,
        ),
        vcpus=facts.vcpus if facts else 2,
        memory_mib=facts.memory_mib if facts else 4096,
    )


def _role(world: World, backend: Any, options: Mapping[str, Any]) -> str | None:
    from deployer.rehearsal.fidelity.profiles import find_profile

    profile = find_profile(
        world.account,
        backend.partition,
        options.get("iam_instance_profile_name"),
        options.get("iam_instance_profile_arn"),
    )
    return profile.roles[0].name if profile and profile.roles else None
