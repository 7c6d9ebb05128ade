"""The product on booted machines, and a sandbox that dies."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest

from deployer.clock import SystemClock
from deployer.rehearsal import sandbox
from deployer.rehearsal.machines.booted.names import Slot
from deployer.rehearsal.processes import ProcessId
from deployer.rehearsal.sandbox import SandboxInfo
from tests.box.host import containers, traces
from tests.rehearse.support import ROOT, Sandbox, program
from tests.support.waiting import until

pytestmark = pytest.mark.box

SPEC = "stacks/g5-27b-mtp.yaml"
_REHEARSAL_SECONDS = 180


def _slot(info: SandboxInfo) -> Slot:
    return Slot(int(re.findall(r"198\.18\.(\d+)\.", info.env["DEPLOYER_MIRROR_MODELSCOPE"])[0]))


@pytest.fixture
def running(tmp_path: Path) -> Iterator[SandboxInfo]:
    state = tmp_path / "sandbox"
    info = sandbox.start(state, machines="booted", parent_pid=os.getpid())
    yield info
    sandbox.stop(state)
    assert traces(_slot(info)) == []
    assert containers(state) == []


def test_rehearse_end_to_end() -> None:
    done = subprocess.run(
        program("rehearse", SPEC, "--machines", "booted", "--json"),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=_REHEARSAL_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["ok"] and summary["leaks"] == [] and summary["second_up_changes"] == 0
    assert summary["draft_n_accepted"] > 0


def test_up_then_the_group_is_closed_and_opened(running: SandboxInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = Sandbox(running.state_dir, running.env)
    shell.run("up", SPEC)
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, running.env[name])
    ec2 = boto3.client("ec2")
    reservations = ec2.describe_instances()["Reservations"]
    instance = reservations[0]["Instances"][0]
    group = instance["SecurityGroups"][0]["GroupId"]
    permissions = ec2.describe_security_groups(GroupIds=[group])["SecurityGroups"][0]["IpPermissions"]
    assert _answers(instance["PublicIpAddress"])
    ec2.revoke_security_group_ingress(GroupId=group, IpPermissions=permissions)
    assert not _answers(instance["PublicIpAddress"])
    ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=permissions)
    assert _answers(instance["PublicIpAddress"])
    shell.run("down")
    assert shell.status() == {"resources": [], "machines": []}


def _answers(address: str) -> bool:
    command = ["timeout", "2", "bash", "-c", f"echo > /dev/tcp/{address}/22"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_what_a_killed_sandbox_left_is_taken_away_by_the_next(running: SandboxInfo, tmp_path: Path) -> None:
    shell = Sandbox(running.state_dir, running.env)
    with shell.start("up", SPEC) as up:
        until(lambda: shell.calls("RunInstances"), "RunInstances is called", seconds=60)
        until(lambda: containers(running.state_dir), "the machine boots", seconds=60)
        server = ProcessId.of(running.pid)
        assert server is not None
        os.kill(running.pid, signal.SIGKILL)
        up.kill()
        up.communicate()
    assert server.wait_gone(SystemClock(), 10)
    slot = _slot(running)
    assert traces(slot) and containers(running.state_dir), "it lives on by itself"

    other = sandbox.start(tmp_path / "other", machines="booted", parent_pid=os.getpid())
    try:
        # The next one may have the slot again, but not what was in it.
        assert containers(running.state_dir) == []
        assert not (running.state_dir / "machines").exists()
        if _slot(other) != slot:
            assert traces(slot) == []
    finally:
        sandbox.stop(tmp_path / "other")
    assert traces(_slot(other)) == []


def test_two_sandboxes_at_once(running: SandboxInfo, tmp_path: Path) -> None:
    other = sandbox.start(tmp_path / "other", machines="booted", parent_pid=os.getpid())
    try:
        assert _slot(other) != _slot(running)
        assert traces(_slot(other)) and traces(_slot(running))
    finally:
        sandbox.stop(tmp_path / "other")
    assert traces(_slot(other)) == []
    assert traces(_slot(running)) != []
