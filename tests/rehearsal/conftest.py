"""Real engines and real machines for the tests, each on its own ports and folders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deployer.rehearsal.machines.process import ProcessHypervisor
from deployer.rehearsal.tiny_model import Variant, cached
from tests.rehearsal.engine import RunningEngine


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Variant], Path]:
    """A synthetic model's file, made once for all workers."""
    folder = tmp_path_factory.getbasetemp().parent / "models"
    return lambda variant: cached(folder, variant)


@pytest.fixture
def start_engine(tmp_path: Path) -> Iterator[Callable[..., RunningEngine]]:
    """Starts llama-server stand-ins; all are ended afterwards."""
    engines: list[RunningEngine] = []

    def start(*arguments: object, **options: object) -> RunningEngine:
        engine = RunningEngine(tmp_path / f"engine-{len(engines)}.log", [str(word) for word in arguments], **options)
        engines.append(engine)
        return engine

    yield start
    for engine in engines:
        engine.kill()


@pytest.fixture
def hypervisor(tmp_path: Path) -> Iterator[ProcessHypervisor]:
    """Process machines without an AWS behind them."""
    made = ProcessHypervisor(tmp_path / "state", cloud_url="http://127.0.0.1:9", environ={})
    yield made
    made.close()
