"""A rehearsal that fails or is interrupted leaves nothing either: no process, no directory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.rehearse.support import ROOT, TIMEOUT_SECONDS, events_of, program
from tests.support.waiting import until

SPEC = "stacks/g5-27b-mtp.yaml"


def _environment(scratch: Path) -> dict[str, str]:
    scratch.mkdir()
    return {**os.environ, "TMPDIR": str(scratch)}


def _commands_below(directory: Path) -> list[str]:
    """Command lines of living processes that name the directory."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if str(directory) in line:
                found.append(line)
    return found


def test_a_failure_tears_down_and_keeps_the_exit_code(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    done = subprocess.run(
        program("rehearse", SPEC, "--json", "--machines", "process", "--set", f"model.sha256={'ab' * 32}"),
        cwd=ROOT,
        env=_environment(scratch),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    summary = events_of(done.stdout)[-1]
    assert done.returncode == 5, done.stderr
    assert summary["event"] == "rehearsal.summary" and summary["ok"] is False
    assert summary["completion"] is None and summary["leaks"] == []
    assert [phase["name"] for phase in summary["phases"]] == ["sandbox", "plan", "up", "down", "leak check"]
    error = json.loads(done.stderr)["error"]
    assert "sha256" in error["message"] and error["hint"]
    assert list(scratch.iterdir()) == [] and _commands_below(scratch) == []


def test_ctrl_c_tears_down(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    with subprocess.Popen(
        program("rehearse", SPEC, "--json", "--machines", "process"),
        cwd=ROOT,
        env=_environment(scratch),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            event = json.loads(line)
            if event["event"] == "step.done" and event["kind"] == "instance":
                break
        assert _commands_below(scratch)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 130, err
    assert events_of(out)[-1]["ok"] is False
    assert json.loads(err.splitlines()[-1])["error"]["code"] == "interrupted"
    assert list(scratch.iterdir()) == [] and _commands_below(scratch) == []


@pytest.mark.deep
@pytest.mark.parametrize("spec", [SPEC, "stacks/local-tiny.yaml"])
def test_what_a_killed_rehearsal_leaves_the_next_takes_away(tmp_path: Path, spec: str) -> None:
    scratch = tmp_path / "scratch"
    environment = _environment(scratch)
    foreign = {name: scratch / f"deployer-rehearsal-{name}" for name in ("unmarked", "link")}
    foreign["unmarked"].mkdir()
    foreign["link"].symlink_to(tmp_path)
    with subprocess.Popen(
        program("rehearse", spec, "--json", "--machines", "process"),
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if json.loads(line)["event"] == "up.summary":
                break
        process.kill()
    # The sandbox sees that its rehearsal is gone; what runs on this machine does not.
    until(lambda: not any("rehearsal.server" in line for line in _commands_below(scratch)), "the end of the sandbox")
    assert len(list(scratch.iterdir())) == 3

    # One that lives meanwhile is left alone.
    code = (
        "from deployer.rehearsal import leftovers; import os; other = leftovers.Claim();"
        "print(len(leftovers.sweep(os.environ)), [p.name for p in leftovers.sweep(os.environ)]);"
        "assert other.directory.is_dir(); other.release(keep=False)"
    )
    swept = subprocess.run([program()[0], "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert swept.stdout == "1 []\n"
    assert set(scratch.iterdir()) == set(foreign.values()) and _commands_below(scratch) == []


def test_the_temporary_directory_is_where_the_test_looks(tmp_path: Path) -> None:
    """Guards the two tests above: an empty folder proves nothing if rehearsals lived elsewhere."""
    code = "import tempfile; print(tempfile.gettempdir())"
    scratch = tmp_path / "scratch"
    command = [program()[0], "-c", code]
    done = subprocess.run(command, env=_environment(scratch), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(scratch) != tempfile.gettempdir()
