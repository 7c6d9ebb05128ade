"""Fixtures of the EC2 target's tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from deployer.errors import DeployerError
from deployer.rehearsal.cloud import Cloud
from deployer.settings import Settings
from tests.cloud.ec2.support import Operator, _session, environment


@pytest.fixture
def operator(cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Operator:
    """An operator whose boto3 and deployer are pointed at the test's own cloud."""
    environ = environment(cloud.url, tmp_path / "home")
    for name in list(os.environ):
        if name.startswith(("AWS_", "DEPLOYER_")):
            monkeypatch.delenv(name)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    # One session reads the service models once for all tests; its clients still take the endpoint of each test.
    monkeypatch.setattr(boto3, "Session", lambda **_options: _session)
    return Operator(cloud, Settings.from_env(environ))


@pytest.fixture
def another_operator(operator: Operator, tmp_path: Path) -> Callable[[], Operator]:
    """A colleague at another machine: same account, own home."""

    def make() -> Operator:
        environ = {**operator.settings.environ, "DEPLOYER_HOME": str(tmp_path / "colleague")}
        return Operator(operator.cloud, Settings.from_env(environ))

    return make


@pytest.fixture
def refused() -> Iterator[Callable[[Callable[[], Any]], DeployerError]]:
    """`refused(act)` is the DeployerError that act raises."""

    def run(act: Callable[[], Any]) -> DeployerError:
        with pytest.raises(DeployerError) as caught:
            act()
        return caught.value

    yield run
