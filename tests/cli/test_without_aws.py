"""No credentials, foreign credentials, no stack: one clear sentence and the command that needs none of it."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("command", ["up", "plan"])
def test_no_credentials(command, deployer, shipped) -> None:
    ran = deployer(command, shipped)
    assert ran.code == 3
    assert ran.err.count("error:") == 1 and "credentials" in ran.err
    assert "deployer rehearse" in ran.err
    assert deployer(command, shipped, "--json").error["code"] == "credentials"


def test_ls_without_credentials_still_shows_what_is_here(deployer) -> None:
    ran = deployer("ls")
    assert ran.code == 0
    assert "no stacks" in ran.out
    assert "EC2 in cn-northwest-1 was not asked" in ran.out
    document = deployer("ls", "--json").document
    assert document["stacks"] == [] and len(document["notes"]) == 1


@pytest.mark.parametrize(
    ("env", "flags", "region"),
    [
        ({}, [], "cn-northwest-1"),
        ({"AWS_DEFAULT_REGION": "cn-north-1"}, [], "cn-north-1"),
        ({"AWS_DEFAULT_REGION": "x", "AWS_REGION": "cn-north-1"}, [], "cn-north-1"),
        ({"AWS_REGION": "x", "DEPLOYER_REGION": "cn-north-1"}, [], "cn-north-1"),
        ({"DEPLOYER_REGION": "cn-north-1"}, ["--region", "cn-northwest-1"], "cn-northwest-1"),
    ],
)
def test_where_stacks_are_looked_for(env, flags, region, deployer) -> None:
    assert f"EC2 in {region} was not asked" in deployer("ls", *flags, **env).out


@pytest.mark.parametrize("command", ["down", "status", "tunnel", "env"])
def test_no_stack_at_all(command, deployer) -> None:
    ran = deployer(command)
    assert ran.code == 3
    assert "there is no stack on this machine" in ran.err and "was not asked" in ran.err


def test_a_reader_that_goes_away_is_no_error(deployer, shipped) -> None:
    command = f"{sys.executable} -m deployer plan {shipped} --offline | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=deployer.directory, check=False)
    assert done.stdout.startswith("g5-27b-mtp on g5.xlarge")
    assert done.stderr == ""


def test_no_sandbox(deployer) -> None:
    for command in ("env", "status"):
        ran = deployer("sandbox", command, "--state", "nowhere")
        assert ran.code == 3 and "no sandbox is running" in ran.err and "deployer sandbox start" in ran.err
    assert deployer("sandbox", "stop", "--state", "nowhere").out == "no sandbox was running\n"
