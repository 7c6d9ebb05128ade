"""Where it runs: partition of the region, hardware of the instance type, and whether the fallbacks are alike."""

from __future__ import annotations

from deployer.catalog import hardware as catalogue
from deployer.catalog import partition as partitions
from deployer.catalog.closest import did_you_mean
from deployer.catalog.types import Hardware
from deployer.decide.types import Decision
from deployer.engine.build import natural_build
from deployer.spec.load import LoadedSpec
from deployer.spec.models import Ec2Stack


def check_region(loaded: LoadedSpec, spec: Ec2Stack) -> None:
    """Raises a located SpecError for a region no known partition has."""
    if partitions.for_region(spec.region) is None:
        known = partitions.known_regions()
        message = f'no AWS partition has a region "{spec.region}"{did_you_mean(spec.region, known)}'
        raise loaded.error(("region",), message, f"regions in China: {', '.join(known[:2])}")


def choose_hardware(loaded: LoadedSpec, spec: Ec2Stack) -> Hardware:
    """The hardware of `instance.type`. Raises a located SpecError for a type the catalogue does not know."""
    return _known(loaded, ("instance", "type"), spec.instance.type)


def check_fallback(loaded: LoadedSpec, index: int, instance_type: str, first: Hardware) -> None:
    """A fallback must run the same build: image, AMI and arguments are made for one. Raises a located SpecError."""
    path = ("instance", "fallbacks", index)
    other = _known(loaded, path, instance_type)
    here, there = natural_build(first), natural_build(other)
    if (here, first.architecture) != (there, other.architecture):
        what = f"{instance_type} runs the {there} build, {first.name} the {here} build; a stack has one"
        raise loaded.error(path, what, f"name another {first.family} size, or drop the fallback")
    if not first.simd <= other.simd:
        missing = ", ".join(sorted(first.simd - other.simd))
        raise loaded.error(path, f"{instance_type} lacks {missing}, which the build for {first.name} uses")


def describe_hardware(hardware: Hardware) -> Decision:
    """The hardware in one line."""
    gpu = hardware.gpu
    memory = f"{hardware.memory_mib / 1024:g} GiB RAM"
    parts = [hardware.cpu, f"{hardware.cores} cores", memory]
    if gpu is not None:
        parts.append(f"{gpu.count} x {gpu.name} with {gpu.vram_mib / 1024:.1f} GiB")
    return Decision("hardware", hardware.name, ", ".join(parts), hardware.source)


def _known(loaded: LoadedSpec, path: tuple[str | int, ...], instance_type: str) -> Hardware:
    found = catalogue.lookup(instance_type)
    if found is not None:
        return found
    family = instance_type.partition(".")[0]
    sizes = catalogue.family_members(family)
    known = [hardware.name for hardware in sizes] or catalogue.all_types()
    families = ", ".join(dict.fromkeys(name.partition(".")[0] for name in catalogue.all_types()))
    hint = (
        f"{family} has {', '.join(h.name.partition('.')[2] for h in sizes)}" if sizes else f"known families: {families}"
    )
    message = f'unknown instance type "{instance_type}"{did_you_mean(instance_type, known)}'
    raise loaded.error(path, message, hint)
