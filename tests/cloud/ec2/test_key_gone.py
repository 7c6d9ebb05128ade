"""Somebody deleted the API key of a stack that runs: its instance is replaced, for nobody knows its key any more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deployer.aws.names import Names
from tests.cloud.ec2 import crashing

NAMES = Names("demo", "cn-northwest-1")


def instance_step(operator: Any) -> Any:
    return next(step for step in operator.target().plan(operator.deployment()).steps if step.kind == "instance")


def test_the_instance_is_replaced_by_one_that_has_the_new_key(operator: Any, boto: Callable[..., Any]) -> None:
    first = operator.up().instance_id
    boto("ssm").delete_parameter(Name=NAMES.api_key)
    step = instance_step(operator)
    assert (step.action, "its API key is gone" in step.reason) == ("replace", True)
    second = operator.up().instance_id
    assert [one["InstanceId"] for one in operator.instances()] == [second] != [first]
    assert operator.up().changes == 0
    third = operator.up(context=8192).instance_id
    assert third != second
    assert operator.up(context=8192).changes == 0
    operator.down()
    assert operator.resources() == []


def test_an_up_that_died_with_the_new_key_made_still_replaces(operator: Any, boto: Callable[..., Any]) -> None:
    first = operator.up().instance_id
    boto("ssm").delete_parameter(Name=NAMES.api_key)
    environ = dict(operator.settings.environ)
    assert crashing.run(environ, "up", at="RunInstances", side="before") == crashing.KILLED
    step = instance_step(operator)
    assert (step.action, "not the one that is stored" in step.reason) == ("replace", True)
    operator.up()
    [one] = operator.instances()
    assert one["InstanceId"] != first
    assert operator.up().changes == 0


def test_without_capacity_the_next_up_replaces_as_well(
    operator: Any, boto: Callable[..., Any], refused: Callable[..., Any]
) -> None:
    first = operator.up().instance_id
    boto("ssm").delete_parameter(Name=NAMES.api_key)
    operator.fault(service="ec2", operation="RunInstances", code="InsufficientInstanceCapacity", status=500, times=0)
    assert refused(operator.up).exit_code == 4
    operator.cloud.faults.clear()
    assert instance_step(operator).action == "replace"
    assert operator.up().instance_id != first
    assert operator.up().changes == 0
