"""What the instance boots: image candidates, login user, root volume."""

from __future__ import annotations

from deployer.catalog import partition as partitions
from deployer.catalog.types import Hardware
from deployer.decide.types import Decision, Weights
from deployer.spec.load import LoadedSpec
from deployer.spec.models import Ec2Stack

GIB = 1 << 30
#: Amazon Linux, swap-free; logs, the agent and package caches included.
_SYSTEM_GIB = 8
_CPU_IMAGE_GIB = 2
_CUDA_IMAGE_GIB = 8
_HEADROOM_GIB = 8
#: The deep learning base image's own snapshot is of this order; a smaller volume is refused by EC2.
_GPU_LEAST_GIB = 100
_LEAST_GIB = 30
_STEP_GIB = 10
#: Every image in the candidate chain is Amazon Linux.
_LOGIN = "ec2-user"


def choose_image_chain(spec: Ec2Stack, hardware: Hardware) -> Decision:
    """Which machine images are tried; the target resolves the first that exists."""
    if spec.instance.ami != "auto":
        return Decision("ami", spec.instance.ami, "the spec says so", "spec")
    candidates = partitions.ami_parameters(hardware.architecture, hardware.gpu is not None)
    others = "; ".join(candidate.description for candidate in candidates[1:])
    reason = "carries the NVIDIA driver" if hardware.gpu is not None else "small, supported, in every region"
    then = f"then {others}; or instance.ami" if others else "instance.ami"
    return Decision(
        "ami", candidates[0].parameter_name, f"{candidates[0].description}: {reason}", "catalog/partitions.json", then
    )


def choose_ssh_user(spec: Ec2Stack) -> tuple[str, Decision]:
    """The login name of the image."""
    if spec.access.user != "auto":
        return spec.access.user, Decision("ssh_user", spec.access.user, "the spec says so", "spec")
    reason = "Amazon Linux's login" if spec.instance.ami == "auto" else "assumed for instance.ami"
    return _LOGIN, Decision("ssh_user", _LOGIN, reason, "rule: image", "access.user")


def choose_root_volume(
    loaded: LoadedSpec, spec: Ec2Stack, hardware: Hardware, weights: Weights
) -> tuple[int, Decision]:
    """Size in GiB. Raises a located SpecError for a size in the spec that cannot hold system and weights."""
    weights_gib = -(-weights.size_bytes // GIB)
    image_gib = _CUDA_IMAGE_GIB if hardware.gpu is not None else _CPU_IMAGE_GIB
    least = weights_gib + image_gib + _SYSTEM_GIB
    wanted = spec.instance.root_volume.size_gib
    if wanted == "auto":
        floor = _GPU_LEAST_GIB if hardware.gpu is not None else _LEAST_GIB
        size = max(floor, -(-(least + _HEADROOM_GIB) // _STEP_GIB) * _STEP_GIB)
        reason = f"weights {weights_gib} + engine image {image_gib} + system {_SYSTEM_GIB} + headroom"
        if size == _GPU_LEAST_GIB:
            reason += f"; GPU machine images need {_GPU_LEAST_GIB}"
        return size, Decision("root_volume_gib", size, reason, "rule: volume", "instance.root_volume.size_gib")
    if wanted < least:
        message = (
            f"{wanted} GiB cannot hold weights ({weights_gib}), engine image ({image_gib}) and system ({_SYSTEM_GIB})"
        )
        raise loaded.error(("instance", "root_volume", "size_gib"), message, f"at least {least}, or auto")
    return wanted, Decision("root_volume_gib", wanted, "the spec says so", "spec")
