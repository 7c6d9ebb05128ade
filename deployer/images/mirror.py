"""Images of other registries copied into the account's ECR under their own digest, by a machine that reaches both."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from deployer.aws import ecr
from deployer.aws.session import Aws
from deployer.catalog import registry as catalogue
from deployer.catalog.types import Architecture
from deployer.errors import RefusedError
from deployer.events import Emit, Event, Json
from deployer.images.recipe import PLATFORMS
from deployer.images.reference import Reference
from deployer.images.registry_http import INDEXES, MANIFESTS, Registry, RegistryError


@dataclass(frozen=True)
class Copied:
    """sent_bytes: 0 when everything was there. digest: of the image for one architecture, the same in both places."""

    digest: str
    sent_bytes: int


def mirror(
    source: Reference,
    architecture: Architecture,
    aws: Aws,
    *,
    emit: Emit,
) -> dict[str, Json]:
    """Copy one image; what is there now. A second time nothing is sent, a broken-off one goes on with what lacks.

    Raises RegistryError, RefusedError, AwsError.
    """
    repository = catalogue.mirror_repository(source.repository)
    uri, made = ecr.ensure_repository(aws, repository)
    emit(Event("image.repository", {"uri": uri, "made": made}))
    host = uri.partition("/")[0]
    login = ecr.login(aws, host)
    with (
        Registry(source.host, plain_http=source.on_this_machine) as theirs,
        Registry(host, login=(login.user, login.password)) as ours,
    ):
        done = copy(theirs, source, ours, repository, architecture, emit=emit)
    name = f"{uri}:{tag_of(source, architecture)}@{done.digest}"
    return {"source": str(source), "image": name, "digest": done.digest, "sent_bytes": done.sent_bytes}


def tag_of(source: Reference, architecture: Architecture) -> str:
    """The tag it gets; a source without one is called by the start of its digest."""
    return catalogue.mirror_tag(source.tag or str(source.digest)[7:19], architecture)


def copy(
    theirs: Registry, source: Reference, ours: Registry, repository: str, architecture: Architecture, *, emit: Emit
) -> Copied:
    """From registry to registry. Blobs go first, so that a tag never stands for half an image."""
    content, media_type, digest = _of_platform(theirs, source, PLATFORMS[architecture])
    tag = tag_of(source, architecture)
    there = ours.has_manifest(repository, tag)
    if there == digest:
        return Copied(digest, 0)
    if there is not None:
        raise RefusedError(
            f"{ours.host}/{repository}:{tag} is another image already ({there}), and stacks may run from it",
            where="ecr",
            hint=f"give the source by another tag, or delete that image; the source is now {digest}",
        )
    sent = 0
    for blob in _blobs(content):
        name, size = str(blob["digest"]), int(blob["size"])
        here = ours.has_blob(repository, name)
        emit(Event("image.blob", {"digest": name, "size_bytes": size, "there": here}))
        if not here:
            ours.send_blob(repository, name, size, theirs.blob(source.repository, name))
            sent += size
    ours.send_manifest(repository, tag, content, media_type)
    return Copied(digest, sent)


def _of_platform(theirs: Registry, source: Reference, platform: str) -> tuple[bytes, str, str]:
    content, media_type, digest = theirs.manifest(source.repository, source.wanted)
    if media_type in INDEXES:
        offered = [one.get("platform", {}) for one in json.loads(content)["manifests"]]
        wanted = {"os": "linux", "architecture": platform}
        entry = next(
            (one for one in json.loads(content)["manifests"] if wanted.items() <= _platform(one).items()), None
        )
        if entry is None:
            have = ", ".join(sorted({f"{one.get('os')}/{one.get('architecture')}" for one in offered}))
            raise RegistryError(f"{source} has no image for linux/{platform}, only {have}")
        content, media_type, digest = theirs.manifest(source.repository, str(entry["digest"]))
    if media_type not in MANIFESTS:
        raise RegistryError(f"{source} is no container image of a known kind ({media_type or 'no media type'})")
    return content, media_type, digest


def _platform(entry: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = entry.get("platform", {})
    return found


def _blobs(manifest: bytes) -> Iterator[dict[str, Any]]:
    document = json.loads(manifest)
    yield document["config"]
    yield from document["layers"]
