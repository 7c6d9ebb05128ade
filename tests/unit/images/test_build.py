"""What a build needs before it starts, and what it hands to the builder."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from deployer.clock import SystemClock
from deployer.errors import RefusedError, UsageError
from deployer.events import Event
from deployer.images import build as building
from deployer.images.build import Bases, BuildFailed, check_bases, check_source
from deployer.images.builder import Builder
from deployer.images.recipe import Recipe, known_recipes, recipe_for
from deployer.images.smoke import has_mtp_head, start_command
from deployer.settings import Settings

PINNED = "debian@sha256:" + "0" * 64
BUILDER = Builder("docker", "amd64", False)


def settings() -> Settings:
    return Settings.from_env({})


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "x.tar.gz"
    path.write_bytes(b"source")
    digest = hashlib.sha256(b"source").hexdigest()
    monkeypatch.setattr(building, "SOURCE", replace(building.SOURCE, sha256=digest))
    return path


def test_the_archive_is_checked(archive: Path) -> None:
    assert check_source(archive) == archive
    archive.write_bytes(b"another source")
    with pytest.raises(RefusedError, match="is expected") as caught:
        check_source(archive)
    assert "pip download" in str(caught.value.hint)
    with pytest.raises(RefusedError, match="there is no source archive"):
        check_source(archive.with_name("none"))


def test_bases() -> None:
    cpu, cuda = recipe_for("c8g.4xlarge", settings()), recipe_for("g5.xlarge", settings())
    assert check_bases(cpu, Bases(PINNED)) == []
    assert check_bases(cpu, Bases("debian:12")) == ["debian:12"]
    assert check_bases(cuda, Bases(PINNED, "cuda:devel")) == ["cuda:devel"]
    with pytest.raises(UsageError):
        check_bases(cuda, Bases(PINNED))
    with pytest.raises(UsageError):
        check_bases(cpu, Bases(PINNED, PINNED))


def test_recipes_differ_where_the_hardware_does(tmp_path: Path) -> None:
    g5, g6, c7g, c8g = (recipe_for(name, settings()) for name in ("g5.xlarge", "g6.xlarge", "c7g.large", "c8g.large"))
    assert len({recipe.tag for recipe in (g5, g6, c7g, c8g)}) == 4
    assert recipe_for("g5.12xlarge", settings()).tag == g5.tag
    assert (g5.platform, c8g.platform) == ("amd64", "arm64")
    assert known_recipes()[g6.tag][1] == ("g6", "g6e")
    with pytest.raises(UsageError, match="neither a spec's path nor an instance type"):
        recipe_for("cuda", settings())


def test_a_spec_and_its_type_are_one_recipe(stacks: Path) -> None:
    assert recipe_for(str(stacks / "g5-27b-mtp.yaml"), settings()).tag == recipe_for("g5.xlarge", settings()).tag
    with pytest.raises(UsageError, match="a local stack runs"):
        recipe_for(str(next(stacks.glob("local*.yaml"))), settings())


@pytest.fixture
def stacks() -> Path:
    return Path(__file__).parents[3] / "stacks"


def test_the_builder_gets_a_dockerfile_and_the_archive(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "docker"
    script.write_text('#!/bin/sh\nfor last; do :; done\ncd "$last" && ls && head -c 20 Dockerfile && exit $CODE\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("CODE", "0")
    recipe, events = recipe_for("c8i.xlarge", settings()), list[Event]()
    building.build(recipe, BUILDER, archive, Bases(PINNED), clock=SystemClock(), emit=events.append)
    assert [str(event.fields["line"]) for event in events][:2] == ["Dockerfile", "source.tar.gz"]
    monkeypatch.setenv("CODE", "7")
    with pytest.raises(BuildFailed, match="exit code 7") as caught:
        building.build(recipe, BUILDER, archive, Bases(PINNED), clock=SystemClock(), emit=events.append)
    assert "source.tar.gz" in caught.value.message


def test_no_secret_in_lines_or_errors() -> None:
    events: list[Event] = []
    with pytest.raises(BuildFailed) as caught:
        building.run_or_fail(["sh", "-c", "cat; exit 1"], "logging in", events.append, secret="token-123")
    assert "token-123" not in caught.value.message and "[redacted]" in caught.value.message
    assert [event.fields["line"] for event in events] == ["[redacted]"]


def test_a_model_to_try_with_must_be_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        has_mtp_head(tmp_path / "none.gguf")
    (tmp_path / "text.gguf").write_text("not a model")
    with pytest.raises(UsageError, match="not a GGUF file"):
        has_mtp_head(tmp_path / "text.gguf")


def test_the_trial_is_on_no_network_and_without_rights() -> None:
    cuda: Recipe = recipe_for("g5.xlarge", settings())
    command = start_command(cuda, BUILDER, "trial", Path("/models/a b.gguf"), drafts=True)
    words = " ".join(command)
    for option in ("--network none", "--cap-drop ALL", "--user 10001:10001", "--gpus all", "-ngl 99", "draft-mtp"):
        assert option in words
    assert "type=bind,readonly,src=/models/a b.gguf,dst=/model.gguf" in command
    cpu = start_command(recipe_for("c8g.large", settings()), BUILDER, "trial", Path("/m.gguf"), drafts=False)
    assert "--gpus" not in cpu and "--spec-type" not in cpu
