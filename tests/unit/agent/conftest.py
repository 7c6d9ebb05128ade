from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deployer.render.program import PACKAGE, make
from tests.unit.agent.box import Box
from tests.unit.agent.servers import FileServer, Metadata
from tests.unit.agent.weights_phase import Run


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A PYTHONPATH folder with the agent as it is installed on an instance."""
    folder = tmp_path_factory.mktemp("lib")
    (folder / PACKAGE).mkdir()
    (folder / PACKAGE / "__main__.py").write_text(make())
    return folder


@pytest.fixture
def box(tmp_path: Path, library: Path) -> Iterator[Box]:
    box = Box(tmp_path / "root", library)
    yield box
    box.close()


@pytest.fixture
def files() -> Iterator[FileServer]:
    with FileServer() as server:
        yield server


@pytest.fixture
def metadata() -> Iterator[Metadata]:
    with Metadata() as server:
        yield server


@pytest.fixture
def run(box: Box) -> Run:
    return Run(box)
