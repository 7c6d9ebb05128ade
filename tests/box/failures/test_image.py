"""An image that its registry does not have: a real dockerd, a real registry with ECR's login, and `up`."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from tests.box.docker.daemon import Docker, dockerd, missing, registry
from tests.box.failures.lab import CPU_SPEC, Lab
from tests.box.failures.test_failures import Row, expect
from tests.unit.agent.box import free_port

pytestmark = pytest.mark.box


def _give(docker: Docker, machine: Path) -> None:
    """A docker for the machine's units."""
    for folder in machine.glob("bin/*"):
        docker.client(folder)


def test_an_image_that_is_not_there(lab: Lab, row: Row, tmp_path: Path) -> None:
    if reason := missing():
        pytest.fail(f"docker cannot be tried here: {reason}", pytrace=False)
    token = lab.aws("ecr").get_authorization_token()["authorizationData"][0]["authorizationToken"]
    user, _, password = base64.b64decode(token).decode().partition(":")
    with registry(tmp_path / "registry", free_port(), user, password) as place, dockerd(place) as docker:
        image = f"{place}/deployer/llama-cpp@sha256:{'0' * 64}"
        stack = lab.stack("imageless", CPU_SPEC, "engine.runtime=docker", f"engine.image={image}")
        try:
            outcome = stack.hold(lambda machine: _give(docker, machine)).outcome()
        finally:
            lab.down(stack)
    row("the registry does not have the image *", outcome)
    expect(outcome, "image", "image_pull", "manifest", "engine.image")
    assert outcome.failed["seconds"] < 20
