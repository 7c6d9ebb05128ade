"""A tunnel's connection broke: whether a later try can work is AWS's to say."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

from deployer.access.errors import SshError
from deployer.access.login import SshTarget
from deployer.reconcile.record import EndpointFacts
from deployer.targets.ec2_access import Access
from deployer.targets.reach import InstanceGoneError, _again


@pytest.fixture
def access(operator: Any) -> Access:
    """To an instance whose SSH port answers nobody."""
    operator.up()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    key = operator.settings.home / "keys" / "cn-northwest-1" / "demo"
    ssh = SshTarget("127.0.0.1", port, "ec2-user", key, ("ssh-ed25519 AAAA",))
    return Access("demo", "cn-northwest-1", ssh, 18080, EndpointFacts(), lambda: "key")


def test_while_the_instance_runs_a_later_try_may_work(operator: Any, access: Access) -> None:
    with pytest.raises(SshError):
        _again(operator.target(), access)


def test_an_instance_that_was_terminated_is_final(
    operator: Any, access: Access, boto: Callable[..., Any], refused: Callable[..., Any]
) -> None:
    boto("ec2").terminate_instances(InstanceIds=[operator.instances()[0]["InstanceId"]])
    error = refused(lambda: _again(operator.target(), access))
    assert isinstance(error, InstanceGoneError)
    assert error.exit_code == 6
    assert "terminated" in error.message
    assert "deployer up" in error.hint


def test_a_stack_that_was_taken_down_is_final(operator: Any, access: Access) -> None:
    operator.down()
    with pytest.raises(InstanceGoneError):
        _again(operator.target(), access)


@pytest.mark.parametrize("code", ["RequestExpired", "UnauthorizedOperation"])
def test_when_aws_cannot_be_asked_the_tunnel_goes_on(operator: Any, access: Access, code: str) -> None:
    operator.fault(service="*", operation="*", code=code, status=403, times=0)
    with pytest.raises(SshError):
        _again(operator.target(), access)
