"""The program's way onto the instance: fetched, proven, kept; and what is said when it does not come."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deployer.render.program import FIRST_STAGE, PACKAGE, make, part_names, program
from tests.unit.agent.box import Box
from tests.unit.agent.engines import serving
from tests.unit.agent.servers import Metadata

PARTS = part_names("/deployer/agents/t", program())


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A PYTHONPATH folder with what user-data carries."""
    folder = tmp_path_factory.mktemp("lib")
    (folder / PACKAGE).mkdir()
    (folder / PACKAGE / "__main__.py").write_text(make(FIRST_STAGE))
    return folder


@pytest.fixture
def fresh(tmp_path: Path, staged: Path, metadata: Metadata) -> Iterator[Box]:
    """A box that has nothing but the first stage; the program lies in `metadata`."""
    box = Box(tmp_path / "root", staged)
    metadata.parameters = dict(PARTS)
    box.environ = {"AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.url, "AWS_ENDPOINT_URL": metadata.url}
    box.config["program"] = {
        "parameters": [*PARTS],
        "sha256": program().sha256,
        "file": "/opt/deployer/lib/deployer_agent/program-x.py",
        "deadline_s": 1,
    }
    yield box
    box.close()


def until_ready(box: Box) -> None:
    box.program(serving())
    agent = box.start()
    box.said("ready", "done")
    agent.send_signal(signal.SIGTERM)
    assert agent.wait(10) == 0


def test_the_program_is_fetched_in_one_call_and_a_later_start_needs_nobody(fresh: Box, metadata: Metadata) -> None:
    until_ready(fresh)
    assert metadata.batches == [[*PARTS]]
    fresh.environ = {}
    (fresh.root / "dev/console").unlink()
    until_ready(fresh)
    assert len(metadata.batches) == 1


def test_a_damaged_file_on_the_disk_is_fetched_again(fresh: Box, metadata: Metadata) -> None:
    file = fresh.root / "opt/deployer/lib/deployer_agent/program-x.py"
    file.parent.mkdir(parents=True)
    file.write_text("raise SystemExit(3)")
    until_ready(fresh)
    assert len(metadata.batches) == 1


def test_a_role_that_is_not_known_yet_is_waited_for(fresh: Box, metadata: Metadata) -> None:
    metadata.missing, metadata.problem, metadata.problem_times = 1, "AccessDeniedException", 1
    fresh.config["program"]["deadline_s"] = 30
    until_ready(fresh)
    assert "waiting for the agent's program: " in fresh.lines("boot", "progress")[0]["message"]


def _lose(parameters: dict[str, str]) -> None:
    parameters.pop(min(parameters))


def _damage(parameters: dict[str, str]) -> None:
    name = min(parameters)
    parameters[name] = parameters[name][:100] + "!" + parameters[name][101:]


@pytest.mark.parametrize(
    ("change", "problem", "words"),
    [
        (_lose, None, "there is no parameter /deployer/agents/t/"),
        (_damage, None, "(tried for "),
        (lambda _: None, "AccessDeniedException", "AccessDeniedException"),
    ],
    ids=["missing", "damaged", "denied"],
)
def test_what_does_not_come_is_a_typed_failure(
    fresh: Box, metadata: Metadata, change: Any, problem: str | None, words: str
) -> None:
    change(metadata.parameters)
    metadata.problem = problem
    assert fresh.run() == 1
    failure = fresh.failure()
    assert (failure["phase"], failure["code"]) == ("boot", "agent_program")
    assert words in failure["message"]


def test_a_stop_while_it_waits_is_no_failure(fresh: Box, metadata: Metadata) -> None:
    metadata.parameters.clear()
    fresh.config["program"]["deadline_s"] = 60
    agent = fresh.start()
    fresh.said("boot", "progress")
    agent.send_signal(signal.SIGTERM)
    assert agent.wait(10) == 0
    assert fresh.lines(state="failed") == []
