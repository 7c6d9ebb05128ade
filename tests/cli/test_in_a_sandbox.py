"""up and down as people and schedulers treat them: a terminal, a signal, a reader that leaves, a busy stack."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.support import ROOT, TIMEOUT_SECONDS, Program, program

SPEC = str(ROOT / "stacks/g5-27b-mtp.yaml")
NAME = "g5-27b-mtp"


@pytest.fixture
def sandbox(deployer: Program, tmp_path: Path) -> Iterator[Program]:
    """The program in the environment of a sandbox of its own."""
    state = ("--state", str(tmp_path / "sandbox"))
    assert deployer("sandbox", "start", "--machines", "process", *state).code == 0
    try:
        yield Program(tmp_path, deployer("sandbox", "env", "--json", *state).document)
    finally:
        deployer("sandbox", "stop", *state)


def _left(sandbox: Program) -> dict[str, list[str]]:
    found: dict[str, list[str]] = sandbox(
        "sandbox", "status", "--json", "--state", str(sandbox.directory / "sandbox")
    ).document
    return found


def _leases(sandbox: Program) -> list[str]:
    return [name for name in _left(sandbox)["resources"] if "/deployer/leases/" in name]


def _started(sandbox: Program, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        program(*arguments),
        cwd=sandbox.directory,
        env={**os.environ, **sandbox.env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _await_step(process: subprocess.Popen[str], kind: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == "step.done" and event["kind"] == kind:
            return
    raise AssertionError(f"no {kind} was made")


def _interrupt(process: subprocess.Popen[str], number: int) -> str:
    """Send a signal once the instance has been made; what stood on stderr."""
    _await_step(process, "instance")
    process.send_signal(number)
    _, said = process.communicate(timeout=TIMEOUT_SECONDS)
    return said


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.deep)])
def test_a_signal_gives_the_lease_back_and_says_what_exists(sandbox: Program, number: int) -> None:
    with _started(sandbox, "up", SPEC, "--json") as process:
        said = _interrupt(process, number)
    assert process.returncode == 130, said
    error = json.loads(said.splitlines()[-1])["error"]
    assert error["code"] == "interrupted" and f"deployer down {NAME}" in error["hint"]
    assert _leases(sandbox) == []
    assert sandbox("down", NAME).code == 0
    assert _left(sandbox) == {"resources": [], "machines": []}


@pytest.mark.deep
def test_nobody_reads(sandbox: Program) -> None:
    def quietly(redirection: str, *arguments: str) -> None:
        done = subprocess.run(
            ["bash", "-c", f'set -o pipefail; "$@" {redirection}', "bash", *program(*arguments)],
            cwd=sandbox.directory,
            env={**os.environ, **sandbox.env},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), arguments

    quietly("| true", "up", SPEC)
    assert sandbox("status", NAME, "--json").document["phase"] == "ready"
    quietly(">&-", "up", SPEC)
    quietly(">/dev/full", "up", SPEC)
    quietly("| head -1", "down")
    assert _left(sandbox) == {"resources": [], "machines": []}
    for command in (["down"], ["down", "--all"], ["down", "--all", "--yes"]):
        ran = sandbox(*command)
        assert (ran.code, ran.out) == (0, "· nothing to take away\n"), command


def test_up_and_down_on_a_terminal(sandbox: Program) -> None:
    for command, end in ((["up", SPEC], "is up"), (["down", NAME], "is gone")):
        ours, theirs = pty.openpty()
        shown: list[bytes] = []
        reader = threading.Thread(target=_collect, args=(ours, shown), daemon=True)
        reader.start()
        env = {**os.environ, **sandbox.env, "TERM": "xterm-256color"}
        process = subprocess.Popen(
            program(*command), cwd=sandbox.directory, env=env, stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        try:
            code = process.wait(TIMEOUT_SECONDS)
        finally:
            process.kill()
        reader.join(TIMEOUT_SECONDS)
        os.close(ours)
        text = b"".join(shown).decode()
        assert code == 0 and end in text, text


@pytest.mark.deep
def test_up_waits_for_another_operator(sandbox: Program) -> None:
    with _started(sandbox, "up", SPEC, "--json") as first:
        _await_step(first, "stack-record")
        os.kill(first.pid, signal.SIGSTOP)
        try:
            assert sandbox("down", NAME).code == 8
            with _started(sandbox, "down", NAME, "--json", "--lock-wait", "1m") as second:
                assert second.stdout is not None
                assert json.loads(second.stdout.readline())["event"] == "waiting"
                os.kill(first.pid, signal.SIGCONT)
                first.communicate(timeout=TIMEOUT_SECONDS)
                _, said = second.communicate(timeout=TIMEOUT_SECONDS)
        finally:
            first.kill()
    assert second.returncode == 0, said
    assert _left(sandbox) == {"resources": [], "machines": []}


def _collect(descriptor: int, shown: list[bytes]) -> None:
    try:
        while chunk := os.read(descriptor, 65536):
            shown.append(chunk)
    except OSError:
        return
