"""AWS takes a spot instance back: it is seen for what it is, and `up` has another one serve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deployer.aws.tags import STACK


def step_of(operator: Any) -> Any:
    """What `plan` says of the instance."""
    steps = operator.target().plan(operator.deployment(market="spot")).steps
    return next(step for step in steps if step.kind == "instance" and step.action != "delete")


def test_after_the_notice_another_one_comes_before_the_old_one_goes(operator: Any) -> None:
    old = operator.up(market="spot").instance_id
    assert operator.cloud.fleet.reclaim(STACK, "demo", 1000.0) == [old]
    status = operator.target().status("demo")
    assert status.phase == "interrupted"
    assert status.details["drift"] == [f"AWS takes instance {old} back (spot interruption)"]
    step = step_of(operator)
    assert step.action == "replace"
    assert step.reason == f"AWS takes {old} back (spot interruption); {old} stays until the new one is healthy"
    operator.events.clear()
    new = operator.up(market="spot").instance_id
    assert [one["InstanceId"] for one in operator.instances()] == [new]
    assert new != old
    done = [(fields["action"], fields["kind"]) for fields in operator.named("step.done")]
    assert done.index(("replace", "instance")) < done.index(("delete", "instance"))
    assert operator.target().status("demo").phase == "ready"
    assert operator.up(market="spot").changes == 0
    operator.down()
    assert operator.resources() == []


def test_once_it_is_gone_up_makes_one(operator: Any, boto: Callable[..., Any]) -> None:
    old = operator.up(market="spot").instance_id
    operator.cloud.fleet.reclaim(STACK, "demo", 0.0)
    # Every call looks at what is due: the second one finds it terminated.
    for _ in range(2):
        boto("ec2").describe_instances()
    why = f"instance {old} has ended: AWS took the spot instance back"
    assert operator.target().status("demo").details["drift"] == [why]
    step = step_of(operator)
    assert (step.action, step.reason) == ("create", f"{old} is terminated (AWS took the spot instance back)")
    new = operator.up(market="spot").instance_id
    assert [one["InstanceId"] for one in operator.instances()] == [new]


def test_without_room_for_another_one_it_is_not_said_to_serve(operator: Any, refused: Callable[..., Any]) -> None:
    old = operator.up(market="spot").instance_id
    operator.cloud.fleet.reclaim(STACK, "demo", 1000.0)
    operator.fault(service="ec2", operation="RunInstances", code="InsufficientInstanceCapacity", times=0)
    error = refused(lambda: operator.up(market="spot"))
    assert error.exit_code == 4
    assert f"{old} runs until AWS takes it back" in error.message
    assert "instance.market: spot-first" in error.hint


def test_who_may_not_look_at_spot_requests_sees_no_notice(operator: Any) -> None:
    old = operator.up(market="spot").instance_id
    operator.cloud.fleet.reclaim(STACK, "demo", 1000.0)
    denied = {"code": "UnauthorizedOperation", "status": 403, "times": 0}
    operator.fault(service="ec2", operation="DescribeSpotInstanceRequests", **denied)
    assert operator.up(market="spot").instance_id == old


def test_another_one_that_does_not_become_healthy_stays_to_be_looked_at(
    operator: Any, refused: Callable[..., Any]
) -> None:
    old = operator.up(market="spot").instance_id
    operator.cloud.fleet.reclaim(STACK, "demo", 1000.0)
    operator.healthy = False
    error = refused(lambda: operator.up(market="spot"))
    [new] = {one["InstanceId"] for one in operator.instances()} - {old}
    assert f"{new} is kept so that you can look" in error.hint
    operator.healthy = True
    assert operator.up(market="spot").instance_id == new
    assert [one["InstanceId"] for one in operator.instances()] == [new]
