"""Container images in ECR: how they are named, which are ours, and which AWS may offer. Pure: nothing is asked here."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace

from deployer.catalog import partition as partitions
from deployer.catalog.source import document
from deployer.catalog.types import Architecture, Partition

#: Docker's own grammar, as far as ECR uses it.
_ECR = re.compile(
    r"(?P<account>\d{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.(?P<suffix>[a-z0-9.-]+)"
    r"/(?P<repository>[a-z0-9][a-z0-9._/-]*)(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9._-]*))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)


@dataclass(frozen=True)
class EcrImage:
    """One image in one account's registry. digest: `sha256:` and 64 hex digits, None until it was looked up."""

    account: str
    region: str
    suffix: str
    repository: str
    tag: str | None = None
    digest: str | None = None

    @property
    def registry(self) -> str:
        """The registry's host name, as `docker login` takes it."""
        return f"{self.account}.dkr.ecr.{self.region}.{self.suffix}"

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.registry}/{self.repository}{tag}{digest}"

    def pinned(self, digest: str) -> EcrImage:
        """The same image by its digest; the tag stays, for people to read."""
        return replace(self, digest=digest)

    def arn(self) -> str | None:
        """The repository's ARN; None when no known partition has the region."""
        partition = partitions.for_region(self.region)
        if partition is None:
            return None
        return partitions.arn(partition, "ecr", self.region, self.account, f"repository/{self.repository}")


def parse(image: str) -> EcrImage | None:
    """The parts of an image in ECR, None for any other registry."""
    found = _ECR.fullmatch(image)
    return EcrImage(**found.groupdict()) if found else None


def is_pinned(image: str) -> bool:
    """Whether the name says exactly which content is meant."""
    return re.search(r"@sha256:[0-9a-f]{64}$", image) is not None


def own_repository() -> str:
    """The repository in the user's account that holds the engine images."""
    return str(document("images")["own_repository"])


def recipe_tag(build: str, dialect: str, flags: tuple[str, ...]) -> str:
    """The tag of an engine image: `BUILD-DIALECT-RECIPE`. flags: everything the compiler is told.

    One build has different flags on different hardware (sm_86 or sm_89, AMX or not), and an image of the wrong one
    fails only after the instance is being paid for; so the flags are part of the name.
    """
    recipe = hashlib.sha256(json.dumps(flags).encode()).hexdigest()[:8]
    return f"{build}-{dialect}-{recipe}"


def own_image(partition: Partition, region: str, account: str, tag: str) -> EcrImage:
    """The user's own image."""
    return EcrImage(account, region, partition.dns_suffix, own_repository(), tag)


def aws_image(partition: Partition, region: str, architecture: Architecture, *, gpu: bool) -> EcrImage | None:
    """AWS's own llama.cpp container for EC2, None when it has none for this hardware. It may not be in the region."""
    offer = document("images")["aws"]
    name = offer["images"]["cuda" if gpu else "cpu"].get(architecture)
    account = partition.image_owners.get(offer["owner_key"])
    if name is None or account is None:
        return None
    repository, _, tag = str(name).partition(":")
    return EcrImage(account, region, partition.dns_suffix, repository, tag)


def public_image(architecture: Architecture, *, gpu: bool) -> str | None:
    """AWS's llama.cpp container in its public registry, which is outside of China; None when there is none for this."""
    offer = document("images")["aws"]
    name = offer["images"]["cuda" if gpu else "cpu"].get(architecture)
    return f"{offer['public']}/{name}" if name else None


def mirror_repository(repository: str) -> str:
    """The repository in the account's ECR for copies of another registry's repository."""
    return f"deployer/mirror/{repository}"


def mirrored_image(
    partition: Partition, region: str, account: str, architecture: Architecture, *, gpu: bool
) -> EcrImage | None:
    """Where the account's copy of AWS's llama.cpp container is, once `mirror images` was run."""
    public = public_image(architecture, gpu=gpu)
    if public is None:
        return None
    repository, _, tag = public.partition("/")[2].partition(":")
    name = mirror_repository(repository)
    return EcrImage(account, region, partition.dns_suffix, name, mirror_tag(tag, architecture))


def mirror_tag(tag: str, architecture: Architecture) -> str:
    """The copy's tag. One tag is one architecture, for stacks run by the digest of a single image."""
    return f"{tag}-{architecture.replace('_', '-')}"


def aws_image_builds() -> tuple[str, ...]:
    """The llama.cpp builds that AWS's container is known to have had."""
    return tuple(document("images")["aws"]["builds"])
