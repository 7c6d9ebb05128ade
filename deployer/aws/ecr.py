"""ECR, as far as engine images need it: is an image there, what is there, a repository of our own, a login."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from deployer.aws import errors
from deployer.aws.session import Aws
from deployer.aws.tags import to_aws
from deployer.catalog.registry import EcrImage
from deployer.errors import AwsError

#: How a person sees in the console where the repository comes from. It belongs to no stack, so `down` leaves it.
REPOSITORY_TAGS = {"deployer:kind": "engine-images"}


@dataclass(frozen=True)
class Probe:
    """One look. found: the image by its digest, None when it is not there; outcome says why, for a person."""

    asked: EcrImage
    found: EcrImage | None
    outcome: str


@dataclass(frozen=True)
class Stored:
    """One image in a repository. pushed_at: seconds since the epoch."""

    digest: str
    tags: tuple[str, ...]
    size_bytes: int
    pushed_at: float


@dataclass(frozen=True)
class Login:
    """What `docker login` takes. The password is a token of twelve hours: never in argv, never in a log."""

    registry: str
    user: str
    password: str = field(repr=False)


def probe(aws: Aws, image: EcrImage) -> Probe:
    """Ask for exactly this image, as the instance will. Anything but a clear yes or no is raised as AwsError."""
    try:
        answer = aws.call(
            "ecr",
            "BatchGetImage",
            registryId=image.account,
            repositoryName=image.repository,
            imageIds=[{"imageTag": image.tag}],
        )
    except AwsError as error:
        match errors.meaning(error.aws_code):
            case "not_found":
                return Probe(image, None, "there is no such repository")
            case "permission":
                return Probe(image, None, f"not allowed to look ({error.aws_code})")
            case "parameter":
                return Probe(image, None, f"ECR does not accept the name ({error.aws_code})")
            case _:
                raise
    digests = [str(one["imageId"]["imageDigest"]) for one in answer.get("images", ())]
    if digests:
        return Probe(image, image.pinned(digests[0]), "it is there")
    failures = [str(one.get("failureCode")) for one in answer.get("failures", ())]
    missing = not failures or failures[0] == "ImageNotFound"
    return Probe(image, None, "the repository has no such tag" if missing else f"ECR answers {failures[0]}")


def stored(aws: Aws, repository: str) -> Iterator[Stored] | None:
    """Every image of one of the account's repositories, None when there is no such repository."""
    first = aws.call_unless("not_found", "ecr", "DescribeImages", repositoryName=repository)
    return None if first is None else _stored(aws, repository, first)


def _stored(aws: Aws, repository: str, page: dict[str, Any]) -> Iterator[Stored]:
    while True:
        for one in page.get("imageDetails", ()):
            yield Stored(
                digest=str(one["imageDigest"]),
                tags=tuple(one.get("imageTags", ())),
                size_bytes=int(one.get("imageSizeInBytes", 0)),
                pushed_at=one["imagePushedAt"].timestamp(),
            )
        token = page.get("nextToken")
        if not token:
            return
        page = aws.call("ecr", "DescribeImages", repositoryName=repository, nextToken=token)


def ensure_repository(aws: Aws, name: str) -> tuple[str, bool]:
    """(the repository's URI as ECR gives it, whether it was made now).

    Tags are immutable: what a stack was decided for cannot change under its name. Not scanned: the image holds one
    program built from a pinned archive, and a scan of each push costs.
    """
    made = aws.call_unless(
        "exists",
        "ecr",
        "CreateRepository",
        repositoryName=name,
        imageTagMutability="IMMUTABLE",
        imageScanningConfiguration={"scanOnPush": False},
        tags=to_aws(REPOSITORY_TAGS),
    )
    if made is not None:
        return str(made["repository"]["repositoryUri"]), True
    found = aws.call("ecr", "DescribeRepositories", repositoryNames=[name])
    return str(found["repositories"][0]["repositoryUri"]), False


def untag(aws: Aws, repository: str, tag: str) -> None:
    """Free a tag; the image itself stays under its digest while other tags name it."""
    aws.call("ecr", "BatchDeleteImage", repositoryName=repository, imageIds=[{"imageTag": tag}])


def login(aws: Aws, registry: str) -> Login:
    """A login to the account's registries of the region, good for twelve hours."""
    answer = aws.call("ecr", "GetAuthorizationToken")
    token = base64.b64decode(answer["authorizationData"][0]["authorizationToken"]).decode()
    user, _, password = token.partition(":")
    return Login(registry, user, password)
