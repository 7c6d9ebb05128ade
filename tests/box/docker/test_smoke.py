"""`deployer image build`'s trial of an image, for real: one that works, and ones that only look as if they did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from deployer.clock import SystemClock
from deployer.errors import DeployerError, UsageError
from deployer.events import Event
from deployer.images.builder import find_builder
from deployer.images.recipe import Recipe, recipe_for
from deployer.images.smoke import smoke_test
from deployer.rehearsal import tiny_model
from deployer.settings import Settings
from tests.box.docker.conftest import Host

pytestmark = pytest.mark.box


#: Executes ud2; a signal that is only sent would not reach the first process of a container.
_ILLEGAL = """import ctypes, mmap
print("load_model: loading", flush=True)
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(b"\\x0f\\x0b")
ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()"""


@dataclass(frozen=True)
class Named(Recipe):
    """A recipe whose image has another name here."""

    called: str = ""

    @property
    def name(self) -> str:
        return self.called


@pytest.fixture
def trial(host: Host, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., list[Event]]]:
    monkeypatch.setenv("DOCKER_HOST", host.docker.host)
    recipe = recipe_for("c8i.xlarge", Settings.from_env({}))

    def run(image: str, model: Path) -> list[Event]:
        events: list[Event] = []
        named = Named(recipe.build, recipe.dialect, recipe.hardware, image)
        smoke_test(named, find_builder(), model, clock=SystemClock(), emit=events.append)
        return events

    yield run
    assert host.docker("ps", "--all", "--format", "{{.Names}}") == ""


def broken(host: Host, folder: Path, command: str) -> str:
    """The same image with a llama-server that is this Python program."""
    folder.mkdir()
    (folder / "llama-server").write_text(f"#!/usr/bin/python3\n{command}\n")
    (folder / "llama-server").chmod(0o755)
    (folder / "Dockerfile").write_text(f"FROM {host.local_image}\nCOPY llama-server /opt/llama/bin/llama-server\n")
    host.docker("build", "--quiet", "--tag", "deployer-test:broken", str(folder))
    return "deployer-test:broken"


def test_an_image_that_answers(host: Host, trial: Callable[..., list[Event]]) -> None:
    events = trial(host.local_image, host.model)
    (completion,) = [event.fields for event in events if event.name == "completion"]
    assert int(str(completion["draft_n_accepted"])) > 0


def test_a_model_without_mtp_head_is_tried_without(
    host: Host, trial: Callable[..., list[Event]], tmp_path: Path
) -> None:
    events = trial(host.local_image, tiny_model.write(tmp_path / "plain.gguf", mtp_head=False))
    assert not [event for event in events if event.fields.get("draft_n")]


def test_illegal_instructions_are_told_as_that(host: Host, trial: Callable[..., list[Event]], tmp_path: Path) -> None:
    image = broken(host, tmp_path / "c", _ILLEGAL)
    with pytest.raises(DeployerError, match="illegal instruction") as caught:
        trial(image, host.model)
    assert "load_model: loading" in caught.value.message
    assert "on the instance type itself" in str(caught.value.hint)


def test_a_file_that_is_no_model(host: Host, trial: Callable[..., list[Event]], tmp_path: Path) -> None:
    (tmp_path / "no.gguf").write_text("not a GGUF")
    with pytest.raises(UsageError, match="not a GGUF file"):
        trial(host.local_image, tmp_path / "no.gguf")
