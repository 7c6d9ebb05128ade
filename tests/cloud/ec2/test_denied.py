"""A permission that is taken away later: what costs money still goes, and what stays is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from deployer.aws.names import Names
from deployer.aws.waiting import FRESH_SECONDS
from deployer.errors import LockedError, RefusedError, TeardownIncomplete
from deployer.events import ignore
from deployer.reconcile.lease import Lease
from tests.cloud.ec2.support import HastyClock

ALWAYS = {"code": "AccessDeniedException", "status": 400, "times": 0}
DENIED = {"code": "UnauthorizedOperation", "status": 403, "times": 0}


def asking(operator: Any) -> Any:
    """A target that climbs the real health ladder."""
    target = operator.target()
    target._verify = None
    return target


def test_down_ends_the_instance_though_no_parameter_may_be_deleted(operator: Any, refused: Callable[..., Any]) -> None:
    operator.up()
    operator.fault(service="ssm", operation="DeleteParameter", **ALWAYS)
    error = refused(operator.down)
    assert isinstance(error, TeardownIncomplete)
    assert "ssm:DeleteParameter" in f"{error.message} {error.hint}"
    assert operator.instances() == []
    operator.cloud.faults.clear()
    operator.down()
    assert operator.resources() == []


def test_up_is_up_though_its_lease_cannot_be_given_back(operator: Any) -> None:
    operator.fault(service="ssm", operation="DeleteParameter", **ALWAYS)
    operator.up()
    assert any("could not be deleted" in str(warning["message"]) for warning in operator.named("warning"))
    operator.cloud.faults.clear()
    operator.down()
    assert operator.resources() == []


def test_a_console_that_may_not_be_read_ends_up_at_once(operator: Any, refused: Callable[..., Any]) -> None:
    operator.fault(service="ec2", operation="GetConsoleOutput", **DENIED)
    error = refused(lambda: asking(operator).up(operator.deployment()))
    assert isinstance(error, RefusedError)
    assert "ec2:GetConsoleOutput" in error.message
    [one] = operator.instances()
    assert f"{one['InstanceId']} was launched and is billed" in error.hint
    assert "deployer down demo" in error.hint
    operator.down()
    assert operator.resources() == []


def test_a_replacement_that_nobody_may_look_at_does_not_stay(operator: Any, refused: Callable[..., Any]) -> None:
    old = operator.up().instance_id
    operator.fault(service="ec2", operation="GetConsoleOutput", **DENIED)
    refused(lambda: asking(operator).up(operator.deployment(context=8192)))
    assert [one["InstanceId"] for one in operator.instances()] == [old]


def test_a_role_that_may_not_be_made_says_what_exists(operator: Any, refused: Callable[..., Any]) -> None:
    operator.fault(service="iam", operation="CreateRole", code="AccessDenied", status=403, times=0)
    error = refused(operator.up)
    assert isinstance(error, RefusedError)
    assert "iam:CreateRole" in error.message
    assert "no instance" in error.hint
    assert "deployer down demo" in error.hint
    before = operator.clock.monotonic()
    operator.down()
    assert operator.clock.monotonic() - before < FRESH_SECONDS / 4
    assert operator.resources() == []


def test_down_waits_for_a_role_whose_making_nobody_answered(operator: Any, refused: Callable[..., Any]) -> None:
    operator.clock = HastyClock()
    operator.fault(service="iam", operation="CreateRole", code="InternalFailure", status=500, times=0)
    refused(operator.up)
    before = operator.clock.monotonic()
    operator.down()
    assert operator.clock.monotonic() - before > FRESH_SECONDS / 2


def test_before_anything_is_made_there_is_nothing_to_clean_up(operator: Any, refused: Callable[..., Any]) -> None:
    operator.fault(service="ec2", operation="DescribeSubnets", **DENIED)
    assert "deployer down" not in refused(operator.up).hint


def test_down_takes_everything_though_no_parameter_may_be_written(operator: Any) -> None:
    operator.up()
    operator.fault(service="ssm", operation="PutParameter", **ALWAYS)
    operator.down()
    assert any("without a lease" in str(warning["message"]) for warning in operator.named("warning"))
    assert operator.resources() == []


def test_down_without_a_lease_still_respects_who_holds_it(operator: Any, refused: Callable[..., Any]) -> None:
    operator.up()
    with Lease(operator.aws, Names("demo", "cn-northwest-1"), operator.clock, ignore):
        operator.fault(service="ssm", operation="PutParameter", **ALWAYS)
        assert isinstance(refused(operator.down), LockedError)
    assert len(operator.instances()) == 1


@pytest.mark.parametrize(
    ("service", "operation"),
    [("ssm", "*"), ("ssm", "GetParameter"), ("iam", "GetRole"), ("ec2", "DescribeVolumes")],
)
def test_down_ends_the_instance_though_not_everything_may_be_looked_at(
    operator: Any, refused: Callable[..., Any], service: str, operation: str
) -> None:
    operator.up()
    operator.fault(service=service, operation=operation, **ALWAYS)
    error = refused(operator.down)
    assert isinstance(error, TeardownIncomplete)
    assert "was ended" in error.message
    assert f"{service}:" in error.message
    assert operator.instances() == []
    operator.cloud.faults.clear()
    operator.down()
    assert operator.resources() == []


def test_down_of_somebody_who_may_nothing_is_refused(operator: Any, refused: Callable[..., Any]) -> None:
    operator.up()
    operator.fault(service="ssm", operation="*", **ALWAYS)
    operator.fault(service="ec2", operation="DescribeInstances", **DENIED)
    assert isinstance(refused(operator.down), RefusedError)
    operator.cloud.faults.clear()
    assert len(operator.instances()) == 1
