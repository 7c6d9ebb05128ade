"""AWS does not answer a rung: trouble that passes is waited out, a refusal is final."""

from __future__ import annotations

import pytest

from deployer.errors import AwsError, RefusedError
from deployer.health.agent import AgentPhases
from deployer.health.instance import InstanceRunning
from deployer.health.port import PortAnswers


def _raises(code: str):
    def ask() -> str:
        raise AwsError(f"ec2 says {code}", aws_code=code, operation="ec2:GetConsoleOutput", hint="allow it")

    return ask


def _probes(code: str):
    ask = _raises(code)
    return AgentPhases(ask, lambda _: None), InstanceRunning(ask), PortAnswers(ask)


@pytest.mark.parametrize("code", ["UnauthorizedOperation", "AccessDenied", "ExpiredToken"])
def test_a_refusal_ends_the_climb_and_names_the_action(code) -> None:
    for probe in _probes(code):
        seen = probe.check()
        assert seen.state == "failed"
        assert isinstance(seen.error, RefusedError)
        assert seen.error.exit_code == 3
        assert seen.error.where == "ec2:GetConsoleOutput"


@pytest.mark.parametrize("code", ["RequestLimitExceeded", "InternalError", "InvalidInstanceID.NotFound"])
def test_trouble_that_passes_is_waited_out(code) -> None:
    for probe in _probes(code):
        assert probe.check().state == "waiting"
