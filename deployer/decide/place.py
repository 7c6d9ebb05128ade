"""Where it runs: hardware of the instance type, and whether the fallbacks are alike."""

from __future__ import annotations

from deployer.catalog import hardware as catalogue
from deployer.catalog.types import Gpu, Hardware
from deployer.decide.types import Decision
from deployer.engine.build import natural_build
from deployer.spec.load import LoadedSpec
from deployer.spec.models import Ec2Stack


def hardware_of(spec: Ec2Stack) -> Hardware:
    """The hardware of `instance.type`; a spec with a type the catalogue lacks was refused when it was loaded."""
    return _known(spec.instance.type)


def check_fallback(loaded: LoadedSpec, index: int, instance_type: str, first: Hardware) -> None:
    """A fallback must run the same build: image, AMI and arguments are made for one. Raises a located SpecError."""
    path = ("instance", "fallbacks", index)
    other = _known(instance_type)
    here, there = natural_build(first), natural_build(other)
    if (here, first.architecture) != (there, other.architecture):
        what = f"{instance_type} runs the {there} build, {first.name} the {here} build; a stack has one"
        raise loaded.error(path, what, f"name another {first.family} size, or drop the fallback")
    if first.gpu is not None and other.gpu is not None and _capability(other.gpu) < _capability(first.gpu):
        what = f"its {other.gpu.name} is older than {first.gpu.name} and cannot run code compiled for it"
        raise loaded.error(
            path, f"{instance_type}: {what}", "make the older GPU instance.type and the newer a fallback"
        )
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


def _known(instance_type: str) -> Hardware:
    found = catalogue.lookup(instance_type)
    assert found is not None, instance_type
    return found


def _capability(gpu: Gpu) -> tuple[int, ...]:
    return tuple(int(part) for part in gpu.compute_capability.split("."))
