"""`deployer image push` and `ls` against the embedded ECR; docker is a program that pushes there by ECR's own API."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from deployer.errors import RefusedError
from deployer.events import Event
from deployer.images.build import BuildFailed
from deployer.images.builder import Builder
from deployer.images.listing import listing
from deployer.images.push import push
from deployer.images.recipe import Recipe, recipe_for
from deployer.rehearsal.cloud import REGION

if TYPE_CHECKING:
    from tests.cloud.ec2.conftest import Operator

BUILDER = Builder("docker", "amd64", False)
REPOSITORY = "deployer/llama-cpp"
#: state/: image (its architecture), content (what makes its digest), digests (RepoDigests, a line each), calls.
DOCKER = """#!{python}
import hashlib, json, os, pathlib, sys
state = pathlib.Path({state!r})
words = sys.argv[1:]
with open(state / "calls", "a") as log:
    log.write(" ".join(words) + "\\n")
if words[:2] == ["image", "inspect"]:
    if not (state / "image").exists():
        sys.exit("no such image")
    digests = state / "digests"
    known = digests.read_text().split() if digests.exists() else []
    print(json.dumps(known) if "RepoDigests" in words[3] else (state / "image").read_text())
words = words[2:] if words[0] == "--config" else words
if words[0] == "login":
    (state / "password").write_text(sys.stdin.read())
    if (state / "refuse").exists():
        sys.exit("unauthorized: " + (state / "password").read_text())
if words[0] == "push":
    import boto3
    uri, _, tag = words[1].rpartition(":")
    layer = "sha256:" + hashlib.sha256((state / "content").read_bytes()).hexdigest()
    manifest = {{"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
                "config": {{"size": 3, "digest": layer, "mediaType": "x"}}, "layers": [{{"size": 5, "digest": layer}}]}}
    boto3.client("ecr").put_image(repositoryName=uri.partition("/")[2], imageTag=tag,
                                  imageManifest=json.dumps(manifest), imageDigest=layer)
    (state / "digests").write_text(uri + "@" + layer + "\\n")
"""


@pytest.fixture
def docker(tmp_path: Path, operator: Operator, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program's state folder; an image of the right kind is here."""
    state = tmp_path / "docker-state"
    state.mkdir()
    (state / "image").write_text("amd64")
    (state / "content").write_text("one")
    program = tmp_path / "bin/docker"
    program.parent.mkdir()
    program.write_text(DOCKER.format(python=sys.executable, state=str(state)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    return state


@pytest.fixture
def recipe(operator: Operator) -> Recipe:
    return recipe_for("g5.xlarge", operator.settings)


def send(operator: Operator, recipe: Recipe, *, replace: bool = False) -> dict[str, Any]:
    return dict(push(recipe, BUILDER, aws_of(operator), replace=replace, emit=operator.events.append))


def aws_of(operator: Operator) -> Any:
    return operator.target()._aws()


def test_pushed_is_what_up_finds(operator: Operator, docker: Path, recipe: Recipe) -> None:
    done = send(operator, recipe)
    host = f"{operator.cloud.world.account}.dkr.ecr.{REGION}.amazonaws.com.cn"
    assert done["pushed"] and done["image"] == f"{host}/{REPOSITORY}:{recipe.tag}@{done['digest']}"
    ecr = boto3.Session().client("ecr", region_name=REGION, endpoint_url=operator.cloud.url)
    (made,) = ecr.describe_repositories()["repositories"]
    assert made["imageTagMutability"] == "IMMUTABLE" and made["imageScanningConfiguration"] == {"scanOnPush": False}
    assert ecr.list_tags_for_resource(resourceArn=made["repositoryArn"])["tags"] == [
        {"Key": "deployer:kind", "Value": "engine-images"}
    ]
    spec = {"name": "demo", "target": "ec2", "region": REGION, "instance": {"type": "g5.xlarge"}}
    spec |= {"model": {"name": "Qwen3.6-27B"}, "engine": {"context": 4096}}
    assert operator.target().resolved(operator.parsed(spec)).engine.image == done["image"]
    password = (docker / "password").read_text()
    assert password and password not in (docker / "calls").read_text()
    assert f"login --username AWS --password-stdin {host}" in (docker / "calls").read_text()


def test_again_sends_nothing(operator: Operator, docker: Path, recipe: Recipe) -> None:
    first = send(operator, recipe)
    (docker / "calls").unlink()
    again = send(operator, recipe)
    assert again == {**first, "pushed": False}
    assert " push " not in (docker / "calls").read_text()


def test_another_image_under_the_tag_is_refused_unless_told(operator: Operator, docker: Path, recipe: Recipe) -> None:
    first = send(operator, recipe)
    (docker / "content").write_text("two")
    (docker / "digests").unlink()
    with pytest.raises(RefusedError, match="is another image already") as caught:
        send(operator, recipe)
    assert "--replace" in str(caught.value.hint)
    assert send(operator, recipe, replace=True)["digest"] != first["digest"]


@pytest.mark.parametrize(("here", "said"), [(None, "there is no image"), ("arm64", "is for arm64")])
def test_nothing_or_the_wrong_thing_to_push(
    operator: Operator, docker: Path, recipe: Recipe, here: str | None, said: str
) -> None:
    (docker / "image").unlink() if here is None else (docker / "image").write_text(here)
    with pytest.raises(RefusedError, match=said):
        send(operator, recipe)
    assert operator.resources() == []


def test_a_refused_login_does_not_tell_the_token(operator: Operator, docker: Path, recipe: Recipe) -> None:
    (docker / "refuse").touch()
    with pytest.raises(BuildFailed) as caught:
        send(operator, recipe)
    password = (docker / "password").read_text()
    assert "logging in" in caught.value.message and password not in caught.value.message
    assert not [event for event in operator.events if isinstance(event, Event) and password in str(event.fields)]


def test_listing(operator: Operator, docker: Path, recipe: Recipe) -> None:
    assert listing(aws_of(operator))["exists"] is False
    done = send(operator, recipe)
    shown: Any = listing(aws_of(operator))
    (one,) = shown["images"]
    assert (one["digest"], one["tags"], one["build"]) == (done["digest"], [recipe.tag], "cuda")
    assert "-DCMAKE_CUDA_ARCHITECTURES=86" in one["flags"] and one["families"] == ["g5"]
    assert one["size_bytes"] > 0 and one["pushed_at"] > 1.7e9
