from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from deployer.access.secrets import new_api_key
from deployer.clock import SystemClock
from deployer.decide.decide import decide
from deployer.settings import Settings
from deployer.spec.load import load_spec
from deployer.targets.local import LocalTarget
from deployer.targets.local_agent import end_all
from deployer.targets.local_hardware import detect
from deployer.targets.local_state import box_paths, stack_folder, stack_folders

ROOT = Path(__file__).parents[2]


class Here:
    """A home of its own, stacks/local-tiny.yaml on a free port, and every event that was emitted."""

    def __init__(self, home: Path, models: Path, environ: dict[str, str] | None = None) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.environ = {**os.environ, "DEPLOYER_HOME": str(home), "DEPLOYER_MODELS": str(models), **(environ or {})}
        self.events: list = []
        self.settings = Settings.from_env(self.environ)

    @property
    def folder(self):
        return stack_folder(self.settings, "local-tiny")

    def target(self) -> LocalTarget:
        return LocalTarget(self.settings, SystemClock(), self.events.append)

    def deployment(self, **overrides: str):
        pairs = {"endpoint.port": str(self.port), **{name.replace("_", "."): text for name, text in overrides.items()}}
        settings = Settings.from_env(self.environ, overrides=tuple(f"{name}={text}" for name, text in pairs.items()))
        loaded = load_spec(ROOT / "stacks" / "local-tiny.yaml", settings)
        return decide(loaded, settings, hardware=detect(), paths=box_paths(settings, loaded.spec.name))

    def said(self, name: str) -> list[dict]:
        return [dict(event.fields) for event in self.events if event.name == name]

    def close(self) -> None:
        for folder in stack_folders(self.settings):
            end_all(folder, SystemClock(), port=None)


@pytest.fixture(scope="session")
def models(tmp_path_factory) -> Path:
    from deployer.rehearsal import tiny_model

    folder = tmp_path_factory.mktemp("models")
    tiny_model.write(folder / "tiny-qwen35-mtp.gguf")
    return folder


@pytest.fixture
def here(tmp_path, models) -> Iterator[Here]:
    made = Here(tmp_path / "home", models)
    yield made
    made.close()


@pytest.fixture
def scripted(tmp_path, models):
    """Stacks whose llama-server is a small script: `scripted(text)` gives a Here."""
    made: list[Here] = []

    def make(text: str) -> Here:
        program = tmp_path / "llama-server"
        program.write_text(text)
        program.chmod(0o755)
        made.append(Here(tmp_path / "home", models, {"DEPLOYER_LLAMA_SERVER": str(program)}))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def planted_key(here) -> str:
    """A key that is known before the stack is, to be looked for afterwards."""
    key = new_api_key()
    here.folder.path.mkdir(parents=True)
    here.folder.api_key_file.write_text(key + "\n")
    return key
