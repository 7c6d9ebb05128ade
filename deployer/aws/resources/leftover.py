"""Volumes and network interfaces that outlived their instance: they carry our tag since the call that made them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from deployer.aws.session import Aws
from deployer.aws.tags import stack_filter


@dataclass(frozen=True)
class Leftover:
    """free: nothing is attached, so it can be deleted."""

    kind: Literal["volume", "network-interface"]
    id: str
    free: bool


def observe(aws: Aws, stack: str) -> list[Leftover]:
    """Every volume and interface with the stack's tag, attached ones too."""
    mine = stack_filter(stack)
    volumes = [
        Leftover("volume", str(volume["VolumeId"]), volume.get("State") == "available")
        for volume in aws.pages("ec2", "DescribeVolumes", "Volumes", Filters=mine)
        if volume.get("State") not in ("deleting", "deleted")
    ]
    interfaces = [
        Leftover("network-interface", str(interface["NetworkInterfaceId"]), interface.get("Status") == "available")
        for interface in aws.pages("ec2", "DescribeNetworkInterfaces", "NetworkInterfaces", Filters=mine)
    ]
    return [*interfaces, *volumes]


def delete(aws: Aws, leftover: Leftover) -> None:
    """Delete it; one that is gone already does no harm."""
    match leftover.kind:
        case "volume":
            aws.call_unless("not_found", "ec2", "DeleteVolume", VolumeId=leftover.id)
        case "network-interface":
            aws.call_unless("not_found", "ec2", "DeleteNetworkInterface", NetworkInterfaceId=leftover.id)
