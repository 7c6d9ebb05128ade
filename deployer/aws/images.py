"""Which machine image to boot: the spec's, else AWS's public parameter, else the owner's newest by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deployer.aws import errors
from deployer.aws.session import Aws
from deployer.catalog import partition as partitions
from deployer.catalog.types import Hardware
from deployer.errors import AwsError, RefusedError

#: The user that Amazon Linux images make.
DEFAULT_LOGIN = "ec2-user"


@dataclass(frozen=True)
class Image:
    """origin: how it was found. smallest_gib: its root snapshot's size. login: the user its cloud-init makes."""

    id: str
    name: str
    architecture: str
    root_device: str
    smallest_gib: int
    origin: str
    login: str


def find(aws: Aws, wanted: str, hardware: Hardware) -> Image:
    """The image for this hardware. wanted: an AMI id, or `auto`.

    Raises RefusedError when there is none, or when the architecture does not fit.
    """
    image = _automatic(aws, hardware) if wanted == "auto" else _describe(aws, wanted, "instance.ami")
    if image.architecture != hardware.architecture:
        raise RefusedError(
            f"{image.id} ({image.name}) is for {image.architecture}, {hardware.name} is {hardware.architecture}",
            where="instance.ami",
            hint="choose an image of the right architecture, or leave instance.ami out",
        )
    return image


def _automatic(aws: Aws, hardware: Hardware) -> Image:
    candidates = partitions.ami_parameters(hardware.architecture, hardware.gpu is not None)
    known = _public_parameters(aws, [parameter for parameter, *_ in candidates])
    for parameter, description, owner, glob in candidates:
        if parameter in known:
            return _describe(aws, known[parameter], f"{description}, by public parameter {parameter}")
        newest = _newest_of(aws, aws.partition.image_owners.get(owner), glob, hardware)
        if newest is not None:
            return _image(newest, f"{description}, newest of owner {owner}")
    raise RefusedError(
        f"no machine image for {hardware.name} was found in {aws.region}",
        where="instance.ami",
        hint="name one in the spec: instance.ami: ami-...",
    )


def _public_parameters(aws: Aws, names: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for at in range(0, len(names), 10):  # GetParameters takes ten names
        try:
            answer = aws.call("ssm", "GetParameters", Names=names[at : at + 10])
        except AwsError as error:
            # Public parameters are a convenience: a region or policy without them still has DescribeImages.
            if errors.meaning(error.aws_code) in ("permission", "not_found", "parameter"):
                continue
            raise
        found.update({str(p["Name"]): str(p["Value"]) for p in answer.get("Parameters", ())})
    return found


def _newest_of(aws: Aws, owner: str | None, glob: str, hardware: Hardware) -> dict[str, Any] | None:
    if owner is None:
        return None
    filters = {"name": glob, "architecture": hardware.architecture, "state": "available"}
    answer = aws.call(
        "ec2",
        "DescribeImages",
        Owners=[owner],
        Filters=[{"Name": key, "Values": [value]} for key, value in filters.items()],
    )
    images = sorted(answer["Images"], key=lambda image: (str(image.get("CreationDate", "")), str(image["ImageId"])))
    return images[-1] if images else None


def _describe(aws: Aws, ami: str, origin: str) -> Image:
    answer = aws.call("ec2", "DescribeImages", ImageIds=[ami])
    if not answer["Images"]:
        raise RefusedError(f"there is no image {ami} in {aws.region}", where="instance.ami", hint="check instance.ami")
    return _image(answer["Images"][0], origin)


def _image(found: dict[str, Any], origin: str) -> Image:
    name = str(found.get("Name", ""))
    root = str(found.get("RootDeviceName", "/dev/xvda"))
    sizes = [
        int(mapping.get("Ebs", {}).get("VolumeSize", 0))
        for mapping in found.get("BlockDeviceMappings", ())
        if mapping.get("DeviceName") == root
    ]
    return Image(
        id=str(found["ImageId"]),
        name=name,
        architecture=str(found.get("Architecture", "")),
        root_device=root,
        smallest_gib=max(sizes, default=0),
        origin=origin,
        login="ubuntu" if "ubuntu" in name.lower() else DEFAULT_LOGIN,
    )
