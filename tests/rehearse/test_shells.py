"""The sandbox as the README shows it: separate shells, one command each; and one that dies half way."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import httpx
import pytest

from tests.rehearse.support import ROOT, TIMEOUT_SECONDS, Sandbox, program
from tests.support.waiting import until

SPEC = "stacks/g5-27b-mtp.yaml"
EMPTY = {"resources": [], "machines": []}


def _shell(sandbox: Sandbox, line: str) -> str:
    """A fresh shell that was set up for another account, and then `eval "$(deployer sandbox env)"`."""
    deployer = " ".join(program())
    script = f'set -e\neval "$({deployer} sandbox env --state {sandbox.state})"\n{deployer} {line}\n'
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=ROOT,
        env={**os.environ, "AWS_PROFILE": "production", "DEPLOYER_REGION": "cn-north-1"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_up_status_down_from_three_shells(sandbox: Sandbox) -> None:
    up = _shell(sandbox, f"up {SPEC}")
    assert "g5-27b-mtp is up, 8 changes" in up
    assert "deployer tunnel g5-27b-mtp" in up and 'eval "$(deployer env g5-27b-mtp)"' in up
    assert len(sandbox.status()["machines"]) == 1

    status = json.loads(_shell(sandbox, "status --json"))
    assert status["stack"] == "g5-27b-mtp" and status["phase"] == "ready"
    assert {row["stack"] for row in json.loads(_shell(sandbox, "ls --json"))["stacks"]} == {"g5-27b-mtp"}

    down = _shell(sandbox, "down")
    assert "g5-27b-mtp is gone" in down
    assert sandbox.status() == EMPTY
    assert sandbox.ask("escapes")["escapes"] == []


@pytest.mark.deep
def test_down_by_the_path_of_a_spec_that_became_invalid_under_a_tunnel(sandbox: Sandbox, tmp_path) -> None:
    sandbox.run("up", SPEC)
    broken = tmp_path / "broken.yaml"
    broken.write_text((ROOT / SPEC).read_text() + "\nnonsense: true\n")
    sandbox.run("validate", str(broken), code=2)
    with sandbox.start("tunnel", "--port", "0", "--json") as tunnel:
        assert tunnel.stdout
        url = json.loads(tunnel.stdout.readline())["url"]
        assert httpx.get(f"{url.removesuffix('/v1')}/health").status_code == 200
        sandbox.run("down", str(broken))
        with pytest.raises(httpx.HTTPError):
            httpx.get(url)
        _, said = tunnel.communicate(timeout=TIMEOUT_SECONDS)
    assert tunnel.returncode == 6
    assert "the tunnel leads nowhere" in said
    assert sandbox.status() == EMPTY
    assert "nothing of it exists" in sandbox.run("down", "g5-27b-mtp")[0]


def test_killed_right_after_the_launch_then_up_then_down(sandbox: Sandbox) -> None:
    with sandbox.start("up", SPEC, "--json") as first:
        until(lambda: sandbox.calls("RunInstances"), "RunInstances is called", seconds=60)
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate(timeout=TIMEOUT_SECONDS)
    assert first.returncode == -signal.SIGKILL

    out, _ = sandbox.run("up", SPEC, "--json")
    assert json.loads(out.splitlines()[-1])["event"] == "up.summary"
    inventory = sandbox.status()
    assert len(inventory["machines"]) == 1
    assert len([name for name in inventory["resources"] if name.startswith("ec2:instances:")]) == 1

    sandbox.run("down")
    assert sandbox.status() == EMPTY
