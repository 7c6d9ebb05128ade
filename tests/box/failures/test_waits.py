"""Failures that have to be waited for, since the next minute could bring the answer; all at the same time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.box.failures.lab import GPU_SPEC, Attempt, Lab, Stack
from tests.box.failures.test_failures import Row, expect
from tests.unit.agent.box import free_port

pytestmark = pytest.mark.box
_NOWHERE = f"http://127.0.0.1:{free_port()}"


def _no_mirror(lab: Lab) -> Attempt:
    hubs = {"DEPLOYER_MIRROR_MODELSCOPE": _NOWHERE, "DEPLOYER_MIRROR_HF": _NOWHERE}
    return Stack(lab, "unreachable", GPU_SPEC, env=hubs).up()


def _no_right(lab: Lab) -> Attempt:
    """Its role may not read the key; the operator has read it by then."""
    refused = {"service": "ssm", "operation": "GetParameter", "where": {"Name": "/deployer/keys/refused"}}
    refused |= {"code": "AccessDeniedException", "message": "not authorized to perform: ssm:GetParameter"}
    return lab.stack("refused").hold(lambda _: lab.sandbox.ask("faults", {**refused, "times": 0}))


def _no_driver(lab: Lab) -> Attempt:
    return lab.stack("driverless", GPU_SPEC, "engine.runtime=docker", "engine.image=example/llama:1").up()


@pytest.fixture(scope="module")
def attempts(lab: Lab) -> Iterator[dict[str, Attempt]]:
    made = {"unreachable": _no_mirror(lab), "refused": _no_right(lab), "driverless": _no_driver(lab)}
    yield made
    for name in made:
        lab.sandbox.run("down", name)


def test_a_gpu_without_driver(attempts: dict[str, Attempt], row: Row) -> None:
    outcome = attempts["driverless"].outcome()
    row("there is no NVIDIA driver", outcome)
    expect(outcome, "driver", "driver_missing", "", "instance.ami")
    assert "nvidia-smi" in outcome.error["message"]
    assert outcome.failed["seconds"] < 75


def test_a_key_that_the_role_may_not_read(attempts: dict[str, Attempt], row: Row) -> None:
    outcome = attempts["refused"].outcome()
    row("the role may not read the API key *", outcome)
    expect(outcome, "runtime", "key_rejected", "", "role's policy")
    assert "not authorized" in outcome.error["message"]
    assert attempts["refused"].said(phase="runtime", state="progress"), "what is waited for is said"
    assert outcome.failed["seconds"] < 100


def test_hubs_that_cannot_be_reached(attempts: dict[str, Attempt], row: Row) -> None:
    outcome = attempts["unreachable"].outcome()
    row("no mirror can be reached", outcome)
    expect(outcome, "weights", "weights_download", "waiting for the network", "the mirror")
    assert "refused" in outcome.error["message"]
    assert any("waiting for the network" in str(event.get("message")) for event in outcome.events)
    assert outcome.failed["seconds"] < 140
