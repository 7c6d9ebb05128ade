"""The sandbox as a background process: started, found, stopped, and gone after every kind of end."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import urllib.request
from pathlib import Path

import boto3
import pytest

from deployer.errors import DeployerError
from deployer.rehearsal import sandbox, statefile
from deployer.rehearsal.processes import ProcessId


@pytest.fixture
def state_dir(tmp_path):
    yield tmp_path / "state"
    sandbox.stop(tmp_path / "state")


def _get(url: str) -> dict:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)


def test_start_use_and_stop(state_dir, monkeypatch):
    info = sandbox.start(state_dir, machines="none")
    assert sandbox.read(state_dir) == info
    assert sandbox.start(state_dir, machines="none").pid == info.pid, "the one that runs is returned"
    assert stat.S_IMODE((state_dir / "sandbox.json").stat().st_mode) == 0o600
    assert _get(f"{info.url}/_sandbox/status") == {"resources": [], "machines": []}
    assert info.machines == "none"
    assert info.substitutions

    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in info.env.items():
        monkeypatch.setenv(name, value)
    assert boto3.Session().client("sts").get_caller_identity()["Arn"].startswith("arn:aws-cn:")
    for name in ("DEPLOYER_HOME", "DEPLOYER_SET", "DEPLOYER_MIRROR_MODELSCOPE", "DEPLOYER_MY_CIDR", "HTTPS_PROXY"):
        assert info.env[name]

    process = ProcessId.of(info.pid)
    assert sandbox.stop(state_dir) is True
    assert not process.alive()
    assert sandbox.read(state_dir) is None
    assert sandbox.stop(state_dir) is False, "stopping again is fine"


def test_a_killed_sandbox_is_not_there_and_can_be_started_again(state_dir, until):
    first = sandbox.start(state_dir, machines="none")
    process = ProcessId.of(first.pid)
    os.kill(first.pid, signal.SIGKILL)
    until(lambda: not process.alive())
    assert sandbox.read(state_dir) is None
    second = sandbox.start(state_dir, machines="none")
    assert second.pid != first.pid
    assert _get(f"{second.url}/_sandbox/status") == {"resources": [], "machines": []}


def test_a_sandbox_ends_with_its_parent_and_when_asked(state_dir, until):
    parent = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    info = sandbox.start(state_dir, machines="none", parent_pid=parent.pid)
    process = ProcessId.of(info.pid)
    parent.kill()
    parent.wait()
    until(lambda: not process.alive())
    assert sandbox.read(state_dir) is None


def test_the_control_api_stops_it(state_dir, until):
    info = sandbox.start(state_dir, machines="none")
    process = ProcessId.of(info.pid)
    urllib.request.urlopen(f"{info.url}/_sandbox/stop", b"{}", timeout=10).read()
    until(lambda: not process.alive())


def test_a_pid_that_belongs_to_somebody_else_is_no_sandbox(state_dir):
    state_dir.mkdir()
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    stale = statefile.Running(ProcessId(other.pid, "1"), "http://127.0.0.1:1", "none", {}, [])
    statefile.write(state_dir, stale)
    assert sandbox.read(state_dir) is None
    assert sandbox.stop(state_dir) is False
    assert other.poll() is None, "it was not touched"
    other.communicate(b"\n")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"process": {"pid": "x"}}'])
def test_a_damaged_state_file_is_no_sandbox(state_dir, text):
    state_dir.mkdir()
    (state_dir / "sandbox.json").write_text(text)
    assert sandbox.read(state_dir) is None


def test_what_went_wrong_is_told(state_dir):
    with pytest.raises(DeployerError) as caught:
        sandbox.start(state_dir, machines="imaginary")
    assert "imaginary" in caught.value.message
    assert str(state_dir) in caught.value.where


def test_the_default_place_can_be_chosen(tmp_path):
    assert sandbox.default_state_dir({"DEPLOYER_SANDBOX": str(tmp_path)}) == tmp_path
    assert sandbox.default_state_dir({}).name == "sandbox"


def test_looking_for_a_sandbox_loads_nothing_heavy():
    code = "import sys, deployer.rehearsal.sandbox; print([m for m in ('moto', 'boto3', 'flask') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path.cwd())
    assert done.stdout.strip() == "[]"
