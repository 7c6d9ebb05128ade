"""Somebody deleted the record of a stack that runs: it still shows, and can be taken down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def test_a_stack_without_a_record_is_found_by_its_tag(operator: Any, boto: Callable[..., Any]) -> None:
    made = operator.up().instance_id
    [before] = operator.target().list_stacks()
    boto("ssm").delete_parameter(Name="/deployer/stacks/demo")
    [after] = operator.target().list_stacks()
    assert (after.stack, after.phase, after.instance_type) == ("demo", "no record", before.instance_type)
    assert after.details["instance_id"] == made
    assert abs(after.expires_at - before.expires_at) < 1
    assert operator.target().status("demo").phase == "no record"
    operator.down()
    assert operator.target().list_stacks() == []
    assert operator.resources() == []


def test_records_show_though_nobody_may_look_at_instances(operator: Any) -> None:
    operator.up()
    operator.fault(service="ec2", operation="DescribeInstances", code="UnauthorizedOperation", status=403, times=0)
    [one] = operator.target().list_stacks()
    assert one.phase == "ready"
    assert "ec2:DescribeInstances" in operator.named("warning")[-1]["message"]


def test_what_is_terminated_is_no_stack(operator: Any, boto: Callable[..., Any]) -> None:
    made = operator.up().instance_id
    boto("ssm").delete_parameter(Name="/deployer/stacks/demo")
    boto("ec2").terminate_instances(InstanceIds=[made])
    assert operator.target().list_stacks() == []
