"""Tiny GGUFs of every kind, made once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deployer.models.inspect import inspect
from deployer.models.places import resolve
from deployer.rehearsal import tiny_model
from deployer.rehearsal.tiny_model import Variant
from deployer.settings import Settings
from tests.support.clock import FakeClock
from tests.unit.models.servers import Odd


@pytest.fixture(scope="session")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """`gguf(head="absent")` is the file of that Variant."""
    folder = tmp_path_factory.mktemp("gguf")
    return lambda **fields: tiny_model.cached(folder, Variant(**fields))


@pytest.fixture
def look(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """`look(FILE|URL)` is the document of `model inspect`."""

    def inspected(text: object, **environ: str) -> dict[str, Any]:
        settings = Settings.from_env({"DEPLOYER_HOME": str(tmp_path / "home"), **environ})
        place = resolve(str(text), settings.mirrors)
        return inspect(place, settings, "cn-northwest-1", FakeClock())

    return inspected


@pytest.fixture
def serve() -> Iterator[Callable[..., Odd]]:
    """`serve(body, **how)` is a running server."""
    running: list[Odd] = []

    def start(body: bytes, **how: Any) -> Odd:
        running.append(Odd(body, **how))
        return running[-1]

    yield start
    for odd in running:
        odd.server.close()
