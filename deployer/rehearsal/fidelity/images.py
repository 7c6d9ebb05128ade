"""The machine images of an emulated region and the public parameters that name them (E8).

Owners are those of AWS China (Amazon Linux: amazon-eks-ami's Makefile; Canonical: ubuntu-cloud-docs pull request 40).
Whether the public parameters exist in cn regions is unverified; Deep Learning images are left out for the same reason.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

AMAZON_LINUX = "141808717104"
CANONICAL = "837727238323"


@dataclass(frozen=True)
class Image:
    """One public image. minimum_gib: size of its root snapshot. parameters: public parameters that point to it."""

    name: str
    owner: str
    architecture: str
    created: str
    root_device: str
    minimum_gib: int
    parameters: tuple[str, ...] = ()

    def id_in(self, region: str) -> str:
        """The same image has another id in each region, always the same one."""
        return "ami-" + hashlib.sha256(f"{region}/{self.name}".encode()).hexdigest()[:17]


def _amazon_linux(architecture: str, version: str, created: str, *, current: bool) -> Image:
    base = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-"
    return Image(
        f"al2023-ami-{version}-kernel-6.1-{architecture}",
        AMAZON_LINUX,
        architecture,
        created,
        "/dev/xvda",
        8,
        (f"{base}default-{architecture}", f"{base}6.1-{architecture}") if current else (),
    )


def _ubuntu(architecture: str, debian: str, serial: str, created: str, *, current: bool) -> Image:
    parameter = f"/aws/service/canonical/ubuntu/server/24.04/stable/current/{debian}/hvm/ebs-gp3/ami-id"
    return Image(
        f"ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-{debian}-server-{serial}",
        CANONICAL,
        architecture,
        created,
        "/dev/sda1",
        8,
        (parameter,) if current else (),
    )


def _eks_nvidia(version: str) -> Image:
    return Image(
        f"amazon-eks-node-al2023-x86_64-nvidia-{version}-v20261104",
        "961992271922",
        "x86_64",
        "2026-11-04T09:00:00Z",
        "/dev/xvda",
        20,
        (f"/aws/service/eks/optimized-ami/{version}/amazon-linux-2023/x86_64/nvidia/recommended/image_id",),
    )


IMAGES: tuple[Image, ...] = (
    _amazon_linux("arm64", "2023.9.20261117.0", "2026-11-17T20:00:00Z", current=True),
    _amazon_linux("x86_64", "2023.9.20261117.0", "2026-11-17T20:00:00Z", current=True),
    _amazon_linux("arm64", "2023.8.20260707.0", "2026-07-07T20:00:00Z", current=False),
    _amazon_linux("x86_64", "2023.8.20260707.0", "2026-07-07T20:00:00Z", current=False),
    _ubuntu("arm64", "arm64", "20261105", "2026-11-05T06:00:00Z", current=True),
    _ubuntu("x86_64", "amd64", "20261105", "2026-11-05T06:00:00Z", current=True),
    _ubuntu("x86_64", "amd64", "20260401", "2026-04-01T06:00:00Z", current=False),
    Image(
        "al2023-ami-ecs-gpu-hvm-2023.0.20261110-kernel-6.1-x86_64-ebs",
        AMAZON_LINUX,
        "x86_64",
        "2026-11-10T12:00:00Z",
        "/dev/xvda",
        30,
        ("/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended/image_id",),
    ),
    *(_eks_nvidia(version) for version in ("1.33", "1.34", "1.35")),
)


def seed_images(backend: Any) -> None:
    """Replace moto's images of 2017 by ours in one EC2 backend."""
    from moto.ec2.models.amis import Ami

    class SeededAmi(Ami):  # type: ignore[misc]
        """moto's image with the root disk it really has."""

        minimum_gib = 8

        @property
        def block_device_mappings(self) -> list[dict[str, Any]]:
            """The image's one disk."""
            return [
                {
                    "DeviceName": self.root_device_name,
                    "Ebs": {
                        "SnapshotId": self.ebs_snapshot.id,
                        "VolumeSize": self.minimum_gib,
                        "DeleteOnTermination": True,
                        "VolumeType": "gp3",
                        "Encrypted": False,
                    },
                }
            ]

    backend.amis.clear()
    backend.snapshots.clear()
    for image in IMAGES:
        ami = SeededAmi(
            backend,
            image.id_in(backend.region_name),
            name=image.name,
            description=image.name,
            owner_id=image.owner,
            owner_alias=None if image.owner == CANONICAL else "amazon",
            public=True,
            virtualization_type="hvm",
            architecture=image.architecture,
            creation_date=datetime.fromisoformat(image.created).astimezone(UTC),
            image_location=f"{image.owner}/{image.name}",
            hypervisor="xen",
            root_device_type="ebs",
            root_device_name=image.root_device,
            region_name=backend.region_name + "a",
        )
        ami.minimum_gib = image.minimum_gib
        backend.amis[ami.id] = ami


def seed_parameters(backend: Any) -> None:
    """Put the public parameters into one SSM backend and keep moto from loading its own."""
    from moto.ssm.models import Parameter

    store = backend._parameters
    store.latest_amis_loaded = True
    store.latest_ecs_amis_loaded = True
    for image in IMAGES:
        for name in image.parameters:
            parameter = Parameter(
                account_id=backend.account_id,
                name=name,
                value=image.id_in(backend.region_name),
                parameter_type="String",
                description=None,
                allowed_pattern=None,
                keyid=None,
                last_modified_date=datetime.fromisoformat(image.created).astimezone(UTC),
                version=1,
                data_type="aws:ec2:image",
            )
            dict.__setitem__(store, name, [parameter])
