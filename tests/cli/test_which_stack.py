"""Which stack is meant: the only one, the named one, the one picked on the terminal, or all."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest

from tests.cli.support import TIMEOUT_SECONDS, program


@pytest.fixture
def two(deployer) -> Path:
    """Two stacks of this machine that do not run any more; gives the folder they are in."""
    stacks = deployer.directory / "home/stacks"
    for name in ("one", "two"):
        (stacks / name).mkdir(parents=True)
    return stacks


def _left(stacks: Path) -> list[str]:
    return sorted(path.name for path in stacks.iterdir())


def test_they_are_listed(two: Path, deployer) -> None:
    rows = deployer("ls", "--json").document["stacks"]
    assert [(row["stack"], row["target"], row["phase"]) for row in rows] == [
        ("one", "local", "stopped"),
        ("two", "local", "stopped"),
    ]
    text = deployer("ls").out
    assert "one" in text and "stopped" in text


@pytest.mark.parametrize("command", ["down", "status", "tunnel", "env"])
def test_nobody_to_ask(command: str, two: Path, deployer) -> None:
    ran = deployer(command)
    assert ran.code == 2
    assert "there are 2 stacks: one (local), two (local)" in ran.err
    assert _left(two) == ["one", "two"]


def test_by_name_and_then_the_only_one(two: Path, deployer) -> None:
    assert "one is gone" in deployer("down", "one").out
    assert _left(two) == ["two"]
    assert deployer("down").code == 0
    assert _left(two) == []


def test_by_the_path_of_a_spec_with_mistakes(two: Path, deployer) -> None:
    spec = deployer.write("spec.yaml", "name: two\ntarget: local\nmodel: [nonsense\n")
    assert deployer("validate", spec).code == 2
    assert deployer("down", spec).code == 0
    assert _left(two) == ["one"]


def test_a_spec_without_a_name_is_an_error_with_its_place(two: Path, deployer) -> None:
    ran = deployer("down", deployer.write("spec.yaml", "target: local\n"))
    assert ran.code == 2 and "spec.yaml:1:" in ran.err
    assert _left(two) == ["one", "two"]


def test_all_asks_unless_told_not_to(two: Path, deployer) -> None:
    ran = deployer("down", "--all")
    assert ran.code == 2 and "would take away one, two" in ran.err and "--yes" in ran.err
    assert _left(two) == ["one", "two"]
    assert deployer("down", "--all", "--yes").code == 0
    assert _left(two) == []
    assert deployer("down", "--all", "--yes").code == 0


def _typed(deployer, command: list[str], answer: str) -> tuple[int, str]:
    """Run on a terminal and type an answer; the exit code and what stood on stderr."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        program(*command),
        cwd=deployer.directory,
        env={**os.environ, **deployer.env},
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(theirs)
    os.write(ours, answer.encode())
    _, said = process.communicate(timeout=TIMEOUT_SECONDS)
    os.close(ours)
    return process.returncode, said


def test_picked_on_the_terminal(two: Path, deployer) -> None:
    code, said = _typed(deployer, ["down"], "2\n")
    assert code == 0, said
    assert "1  one (local)" in said and "2  two (local)" in said
    assert _left(two) == ["one"]


def test_no_is_an_answer(two: Path, deployer) -> None:
    code, said = _typed(deployer, ["down", "--all"], "n\n")
    assert code == 130 and "take away one, two?" in said
    assert _left(two) == ["one", "two"]
