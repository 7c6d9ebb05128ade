"""The same commands on a stack of this machine: its logs are files, and there is nothing to log in to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deployer.agent.protocol import encode_line
from tests.cli.support import Program

KEY = "sk-" + "k" * 43


@pytest.fixture
def deployer(tmp_path: Path) -> Program:
    folder = tmp_path / "home/stacks/here"
    folder.mkdir(parents=True)
    (folder / "api-key").write_text(f"{KEY}\n")
    (folder / "agent.log").write_text("Traceback\n")
    return Program(tmp_path, {"DEPLOYER_HOME": str(tmp_path / "home"), "TZ": "UTC"})


@pytest.fixture
def folder(deployer: Program) -> Path:
    return Path(deployer.env["DEPLOYER_HOME"]) / "stacks/here"


def test_its_logs_are_its_files(deployer: Program, folder: Path) -> None:
    failed = encode_line("engine", "failed", 60.0, code="engine_exit", message="it ended", hint="see", log=["a", KEY])
    (folder / "console").write_text(encode_line("boot", "start", 0.0) + "\n" + failed + "\n")
    (folder / "engine.log").write_text("one\ntwo\nunfinished")
    ran = deployer("logs", "here", "--lines", "1")
    assert ran.out.splitlines() == [
        "1970-01-01 00:01:00 ✘ engine failed: engine_exit it ended",
        "    | a",
        "    | [API key]",
        "    hint: see",
        "engine| two",
        "engine| unfinished",
    ]
    assert [json.loads(line)["phase"] for line in deployer("logs", "here", "--console", "--json").out.splitlines()] == [
        "boot",
        "engine",
    ]


def test_an_agent_that_never_spoke_left_its_own_output(deployer: Program) -> None:
    ran = deployer("logs", "here")
    assert ran.out == "console| Traceback\n" and ran.code == 0
    assert "no log yet" in ran.err


def test_there_is_nothing_to_log_in_to(deployer: Program) -> None:
    for arguments in (("exec", "here", "--json", "--", "true"), ("ssh", "here", "--json")):
        ran = deployer(*arguments)
        assert ran.code == 2 and "runs on this machine" in ran.error["message"]
