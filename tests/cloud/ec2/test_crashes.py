"""kill -9 at an AWS call, lost replies, lag: never two instances, never one forgotten, never a rest."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from deployer.rehearsal.fidelity.faults import Fault
from tests.cloud.ec2 import crashing
from tests.cloud.ec2.support import HastyClock


def environ_of(operator: Any) -> dict[str, str]:
    return dict(operator.settings.environ)


@pytest.mark.parametrize("side", ["before", "after"])
def test_killed_at_run_instances_then_up_is_one_instance_then_down_is_nothing(operator: Any, side: str) -> None:
    environ = environ_of(operator)
    assert crashing.run(environ, "up", at="RunInstances", side=side) == crashing.KILLED
    assert len(operator.instances()) == (side == "after")
    result = operator.up()
    assert [one["InstanceId"] for one in operator.instances()] == [result.instance_id]
    operator.down()
    assert operator.resources() == []


def test_killed_after_run_instances_then_down_finds_it(operator: Any) -> None:
    assert crashing.run(environ_of(operator), "up", at="RunInstances") == crashing.KILLED
    assert len(operator.instances()) == 1
    operator.down()
    assert operator.resources() == []


def test_a_launch_that_does_not_show_yet_is_neither_repeated_nor_forgotten(operator: Any) -> None:
    operator.cloud.world.options = operator.cloud.world.options.changed({"lag_seconds": 3.0})
    environ = environ_of(operator)
    assert crashing.run(environ, "up", at="RunInstances") == crashing.KILLED
    result = operator.up()
    operator.cloud.world.options = operator.cloud.world.options.changed({"lag_seconds": 0.0})
    assert [one["InstanceId"] for one in operator.instances()] == [result.instance_id]


def test_a_launch_that_does_not_show_yet_is_waited_for_by_down(operator: Any) -> None:
    operator.clock = HastyClock()
    operator.cloud.world.options = operator.cloud.world.options.changed({"lag_seconds": 1.5})
    assert crashing.run(environ_of(operator), "up", at="RunInstances") == crashing.KILLED
    operator.down()
    assert operator.resources() == []


def test_a_changed_spec_after_a_kill_ends_with_one_instance_of_the_new_spec(operator: Any) -> None:
    assert crashing.run(environ_of(operator), "up", at="RunInstances") == crashing.KILLED
    [old] = operator.instances()
    new = operator.up(context=8192).instance_id
    assert new != old["InstanceId"]
    assert [one["InstanceId"] for one in operator.instances()] == [new]
    operator.down()
    assert operator.resources() == []


def test_a_changed_spec_after_a_kill_with_lag(operator: Any) -> None:
    """AWS says IdempotentParameterMismatch: the old launch is adopted, then replaced like any other."""
    operator.cloud.world.options = operator.cloud.world.options.changed({"lag_seconds": 3.0})
    assert crashing.run(environ_of(operator), "up", at="RunInstances") == crashing.KILLED
    new = operator.up(context=8192).instance_id
    operator.cloud.world.options = operator.cloud.world.options.changed({"lag_seconds": 0.0})
    assert [one["InstanceId"] for one in operator.instances()] == [new]


def test_killed_between_old_and_new_goes_on_with_the_new(operator: Any) -> None:
    operator.up()
    values = {"context": 8192}
    assert crashing.run(environ_of(operator), "up", at="TerminateInstances", side="before", values=values)
    assert len(operator.instances()) == 2
    new = operator.up(context=8192).instance_id
    assert [one["InstanceId"] for one in operator.instances()] == [new]
    operator.down()
    assert operator.resources() == []


@pytest.mark.parametrize(
    "operation", ["TerminateInstances", "DeleteKeyPair", "DeleteRolePolicy", "DeleteSecurityGroup", "DeleteParameter"]
)
def test_a_killed_down_is_finished_by_the_next(operator: Any, operation: str) -> None:
    operator.up()
    assert crashing.run(environ_of(operator), "down", at=operation) == crashing.KILLED
    operator.down()
    assert operator.resources() == []


#: Every call of `up` that changes something in AWS.
MUTATING = [
    ("ssm", "PutParameter"),
    ("ec2", "CreateSecurityGroup"),
    ("ec2", "AuthorizeSecurityGroupIngress"),
    ("ec2", "ImportKeyPair"),
    ("iam", "CreateRole"),
    ("iam", "PutRolePolicy"),
    ("iam", "CreateInstanceProfile"),
    ("iam", "AddRoleToInstanceProfile"),
    ("ec2", "RunInstances"),
]


def test_when_every_reply_of_up_is_lost_once_nothing_is_made_twice(operator: Any) -> None:
    for service, operation in MUTATING:
        operator.cloud.faults.arm(Fault(service=service, operation=operation, when="after"))
    result = operator.up()
    assert [fault["struck"] for fault in operator.cloud.faults.listing()] == [1] * len(MUTATING)
    assert [one["InstanceId"] for one in operator.instances()] == [result.instance_id]
    operator.events.clear()
    assert operator.up().changes == 0
    operator.down()
    assert operator.resources() == []


DELETING = [
    ("ec2", "TerminateInstances"),
    ("ec2", "DeleteKeyPair"),
    ("ec2", "DeleteSecurityGroup"),
    ("iam", "DeleteInstanceProfile"),
    ("iam", "DeleteRolePolicy"),
    ("iam", "DeleteRole"),
    ("ssm", "DeleteParameter"),
]


def test_when_every_reply_of_down_is_lost_once_nothing_is_left(operator: Any) -> None:
    operator.up()
    for service, operation in DELETING:
        operator.cloud.faults.arm(Fault(service=service, operation=operation, when="after"))
    operator.down()
    assert [fault["struck"] for fault in operator.cloud.faults.listing()] == [1] * len(DELETING)
    assert operator.resources() == []


def test_a_refused_delete_is_named_and_the_rest_is_deleted(operator: Any, refused: Callable[..., Any]) -> None:
    operator.up()
    operator.fault(service="iam", operation="DeleteRole", code="AccessDenied")
    error = refused(operator.down)
    assert error.exit_code == 7
    assert "role deployer-demo-role-cn-northwest-1" in error.message
    assert "iam:DeleteRole" in error.message
    names = json.dumps(operator.resources())
    assert "instance" not in names.replace("instance-profile", "")
    assert "ssm:parameters" in names.replace("_parameters", "parameters")
    operator.down()
    assert operator.resources() == []
