from __future__ import annotations

from collections import defaultdict

import pytest

from deployer.catalog import hardware
from deployer.catalog.types import Hardware

ALL = [found for name in hardware.all_types() if (found := hardware.lookup(name)) is not None]
FAMILIES = ["c7g", "c8g", "m8g", "r8g", "c7i", "c8i", "m8i", "r8i", "g4dn", "g5", "g6", "g6e"]


def test_every_listed_type_is_found() -> None:
    assert len(ALL) == len(hardware.all_types()) == len(set(hardware.all_types()))


@pytest.mark.parametrize("machine", ALL, ids=lambda machine: machine.name)
def test_sane(machine: Hardware) -> None:
    assert machine.name == f"{machine.family}.{machine.name.split('.')[1]}"
    assert 1 <= machine.cores <= machine.vcpus <= 2 * machine.cores
    # On Graviton every vCPU is a core; the others share a core between two.
    assert machine.vcpus == (machine.cores if machine.architecture == "arm64" else 2 * machine.cores)
    assert machine.memory_mib >= 1024 * machine.vcpus
    assert machine.memory_bandwidth_gbs is not None
    assert 3 < machine.memory_bandwidth_gbs < 1500
    assert ("neon" in machine.simd) == (machine.architecture == "arm64")
    assert ("avx2" in machine.simd) == (machine.architecture == "x86_64")
    assert not ({"amx", "avx512_bf16"} & machine.simd and "avx512" not in machine.simd)
    assert machine.source.startswith("catalog/hardware.json")
    assert (machine.gpu is not None) == machine.family.startswith("g")
    if machine.gpu is not None:
        assert machine.gpu.count in (1, 2, 4, 8)
        assert 15_000 < machine.gpu.vram_mib < 50_000
        assert machine.gpu.compute_capability in {"7.5", "8.6", "8.9"}
        assert 300 <= machine.gpu.bandwidth_gbs <= 900


@pytest.mark.parametrize("family", FAMILIES)
def test_families_are_complete(family: str) -> None:
    sizes = {machine.name.split(".")[1] for machine in hardware.family_members(family)}
    least = {"xlarge", "2xlarge", "4xlarge", "8xlarge", "12xlarge", "16xlarge"}
    assert least <= sizes
    if not family.startswith("g"):
        assert any(size.startswith("metal") for size in sizes)
        assert "large" in sizes
    if family.endswith("8g") or family == "c7g":
        assert "medium" in sizes


def test_members_grow() -> None:
    by_family: dict[str, list[int]] = defaultdict(list)
    for machine in ALL:
        by_family[machine.family].append(machine.vcpus)
    for counts in by_family.values():
        assert counts == sorted(counts)


def test_a10g() -> None:
    machine = hardware.lookup("g5.xlarge")
    assert machine is not None
    assert machine.gpu is not None
    assert (machine.gpu.name, machine.gpu.vram_mib, machine.gpu.compute_capability) == ("A10G", 22888, "8.6")
    assert (machine.vcpus, machine.cores, machine.memory_mib) == (4, 2, 16384)


@pytest.mark.parametrize("name", ["", "g5", "g5.", "g5.9xlarge", "p4d.24xlarge", "G5.xlarge", ".xlarge"])
def test_unknown(name: str) -> None:
    assert hardware.lookup(name) is None


def test_family_of_nothing() -> None:
    assert hardware.family_members("p3") == []
