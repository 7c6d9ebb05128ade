"""Which instance types the sandbox offers in which zone (E7): the sandbox's own choice, not a fact of AWS.

They differ on purpose, so that choosing a subnet by what is offered there is exercised. Types come from the catalogue.
"""

from __future__ import annotations

from typing import Any

from deployer.catalog import hardware

#: family -> letters of the zones that have it; families not named here are in every zone.
FAMILY_ZONES: dict[str, str] = {"g5": "ac", "g6e": "b", "g6": "bc", "r8i": "a"}
#: The zones of the emulated regions, as moto has them.
REGION_ZONES: dict[str, str] = {"cn-northwest-1": "abc", "cn-north-1": "ab"}


def zones_of(instance_type: str, region: str) -> list[str]:
    """Names of the zones that offer a type; empty when the region does not have it."""
    family = instance_type.partition(".")[0]
    if region not in REGION_ZONES or hardware.lookup(instance_type) is None:
        return []
    letters = FAMILY_ZONES.get(family, REGION_ZONES[region])
    return [region + letter for letter in REGION_ZONES[region] if letter in letters]


def seed() -> None:
    """Fill moto's table of offerings for the emulated regions; moto has none there."""
    from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS

    for region in REGION_ZONES:
        by_zone = [
            {"InstanceType": name, "Location": zone, "LocationType": "availability-zone"}
            for name in hardware.all_types()
            for zone in zones_of(name, region)
        ]
        names = sorted({offer["InstanceType"] for offer in by_zone})
        by_region = [{"InstanceType": name, "Location": region, "LocationType": "region"} for name in names]
        tables: dict[str, dict[str, Any]] = INSTANCE_TYPE_OFFERINGS
        tables["availability-zone"][region] = by_zone
        tables["region"][region] = by_region
