"""An image that was built here into the account's ECR: repository, login, push, and the digest ECR has it under."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from deployer.aws import ecr
from deployer.aws.session import Aws
from deployer.catalog import registry
from deployer.errors import RefusedError
from deployer.events import Emit, Event, Json
from deployer.images.build import run_or_fail
from deployer.images.builder import Builder
from deployer.images.commands import run
from deployer.images.recipe import Recipe


def push(recipe: Recipe, builder: Builder, aws: Aws, *, replace: bool, emit: Emit) -> dict[str, Json]:
    """Push; what is there now. A second time nothing is sent. replace: free the tag of another image first.

    Raises RefusedError (no such image here, tag taken by another), BuildFailed, AwsError.
    """
    _check(recipe, builder)
    repository = registry.own_repository()
    uri, made = ecr.ensure_repository(aws, repository)
    emit(Event("image.repository", {"uri": uri, "made": made}))
    remote = f"{uri}:{recipe.tag}"
    there = ecr.probe(aws, registry.own_image(aws.partition, aws.region, aws.account, recipe.tag)).found
    here = _digests(builder, recipe.name, uri)
    if there is not None and there.digest in here:
        return _document(recipe, remote, str(there.digest), pushed=False)
    if there is not None and not replace:
        raise RefusedError(
            f"{remote} is another image already ({there.digest}), and stacks may run from it",
            where="ecr",
            hint="--replace gives the tag to this image; stacks are replaced by their next `deployer up`",
        )
    if there is not None:
        ecr.untag(aws, repository, recipe.tag)
    with tempfile.TemporaryDirectory(prefix="deployer-login-") as folder:
        login = ecr.login(aws, uri.split("/")[0])
        what = f"logging in to {login.registry}"
        run_or_fail(builder.login(Path(folder), login.registry, login.user), what, emit, secret=login.password)
        run_or_fail([builder.program, "tag", recipe.name, remote], f"naming {remote}", emit)
        run_or_fail(builder.push(Path(folder), remote), f"pushing {remote}", emit)
    found = ecr.probe(aws, registry.own_image(aws.partition, aws.region, aws.account, recipe.tag)).found
    digest = found.digest if found is not None else None
    if digest is None:
        raise RefusedError(f"{remote} was pushed, but ECR does not show it", where="ecr", hint="push again")
    return _document(recipe, remote, digest, pushed=True)


def _check(recipe: Recipe, builder: Builder) -> None:
    found = builder.inspect(recipe.name, "{{.Architecture}}")
    if found is None:
        raise RefusedError(
            f"there is no image {recipe.name} here", where=builder.program, hint="deployer image build makes it"
        )
    if found != recipe.platform:
        raise RefusedError(
            f"{recipe.name} is for {found}, {recipe.hardware} needs {recipe.platform}",
            where=builder.program,
            hint="build it again on a machine of that architecture, or with docker's buildx plugin",
        )


def _digests(builder: Builder, name: str, uri: str) -> set[str]:
    """Digests under which the registry had this very image before."""
    done = run([builder.program, "image", "inspect", "--format", "{{json .RepoDigests}}", name])
    known: list[str] = json.loads(done.text or "null") or [] if done.code == 0 else []
    return {digest for place, _, digest in (entry.partition("@") for entry in known) if place == uri}


def _document(recipe: Recipe, remote: str, digest: str, *, pushed: bool) -> dict[str, Json]:
    return {"image": f"{remote}@{digest}", "digest": digest, "pushed": pushed, "build": recipe.build.name}
