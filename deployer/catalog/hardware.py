"""EC2 instance types the catalogue knows. Sizes as EC2 describes them; regenerate with bench/make_hardware_catalog.py."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from deployer.catalog.source import cite, document
from deployer.catalog.types import Gpu, Hardware


@lru_cache(maxsize=512)
def lookup(instance_type: str) -> Hardware | None:
    """The hardware of `instance_type`, or None when the catalogue does not know it."""
    family, _, size = instance_type.partition(".")
    facts = document("hardware")["families"].get(family)
    row = facts["sizes"].get(size) if facts else None
    return _hardware(instance_type, family, facts, row) if row else None


def all_types() -> list[str]:
    """Every known instance type, family by family, small to large."""
    return [f"{family}.{size}" for family, facts in document("hardware")["families"].items() for size in facts["sizes"]]


def family_members(family: str) -> list[Hardware]:
    """All sizes of a family, small to large; empty for an unknown family."""
    facts = document("hardware")["families"].get(family, {"sizes": {}})
    found = [lookup(f"{family}.{size}") for size in facts["sizes"]]
    return [hardware for hardware in found if hardware is not None]


def _hardware(name: str, family: str, facts: dict[str, Any], row: dict[str, Any]) -> Hardware:
    share = row["cores"] / facts["cores_per_socket"]
    return Hardware(
        name=name,
        family=family,
        architecture=facts["architecture"],
        cpu=facts["cpu"],
        vcpus=row["vcpus"],
        cores=row["cores"],
        memory_mib=row["memory_mib"],
        simd=frozenset(facts["simd"]),
        gpu=_gpu(row["gpu"]) if "gpu" in row else None,
        memory_bandwidth_gbs=round(share * facts["socket_bandwidth_gbs"], 1),
        source=cite("hardware"),
    )


def _gpu(row: dict[str, Any]) -> Gpu:
    chip = document("hardware")["gpus"][row["name"]]
    return Gpu(
        name=row["name"],
        count=row["count"],
        vram_mib=row["vram_mib"],
        compute_capability=chip["compute_capability"],
        bandwidth_gbs=chip["bandwidth_gbs"],
    )
