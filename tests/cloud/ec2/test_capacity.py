"""Where AWS has room, and what a person is told when it has not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

CAPACITY = {"service": "ec2", "operation": "RunInstances", "code": "InsufficientInstanceCapacity", "times": 0}


def outcomes(operator: Any) -> list[tuple[str, str, str]]:
    return [(a["instance_type"], a["zone"], a["outcome"]) for a in operator.named("attempt")]


def test_an_empty_zone_sends_the_launch_to_the_next(operator: Any) -> None:
    operator.fault(**{**CAPACITY, "times": 1})
    result = operator.up()
    tried = outcomes(operator)
    assert [outcome for *_, outcome in tried] == ["refused", "launched"]
    assert tried[0][1] != tried[1][1]
    [one] = operator.instances()
    assert one["InstanceId"] == result.instance_id
    assert one["Placement"]["AvailabilityZone"] == tried[1][1]
    refused = operator.named("attempt")[0]
    assert refused["aws_code"] == "InsufficientInstanceCapacity"
    assert refused["request_id"]


def test_an_empty_type_sends_the_launch_to_the_fallback_decided_anew(operator: Any) -> None:
    operator.fault(**CAPACITY, where={"InstanceType": "g5.xlarge"})
    operator.up()
    [one] = operator.instances()
    assert one["InstanceType"] == "g5.2xlarge"
    assert operator.target().list_stacks()[0].instance_type == "g5.2xlarge"
    operator.events.clear()
    assert operator.up().changes == 0


def test_no_room_anywhere_leaves_nothing_that_costs_money(operator: Any, refused: Callable[..., Any]) -> None:
    operator.fault(**CAPACITY)
    error = refused(operator.up)
    assert error.exit_code == 4
    tried = outcomes(operator)
    assert {kind for kind, *_ in tried} == {"g5.xlarge", "g5.2xlarge"}
    told = error.as_dict()["error"]["attempts"]
    assert [(row["instance_type"], row["zone"], row["outcome"]) for row in told] == tried
    lines = error.message.splitlines()
    code = "InsufficientInstanceCapacity"
    assert lines[1].split() == ["MARKET", "TYPE", "ZONE", "CODE", "REQUEST"]
    for line, row in zip(lines[2:-1], told, strict=True):
        assert line.split() == ["on-demand", row["instance_type"], row["zone"], code, row["request_id"]]
        assert (row["aws_code"], row["message"]) == (code, "injected by the sandbox")
    # AWS says the same of every place, so it is told once.
    assert lines[-1] == f"  {code}: injected by the sandbox"
    assert operator.instances() == []
    assert operator.target().list_stacks()[0].phase == "no-capacity"
    operator.cloud.faults.clear()
    operator.up()
    assert len(operator.instances()) == 1
    operator.down()
    assert operator.resources() == []


@pytest.mark.parametrize("code", ["InstanceLimitExceeded", "UnauthorizedOperation", "InvalidParameterValue"])
def test_quota_permission_and_parameters_stop_at_once(operator: Any, refused: Callable[..., Any], code: str) -> None:
    operator.fault(**{**CAPACITY, "code": code})
    error = refused(operator.up)
    assert error.exit_code == 3
    assert "ec2:RunInstances" in error.message
    assert error.hint
    assert len(operator.named("attempt")) == 1
    operator.cloud.faults.clear()
    # Nothing can have been launched, so `down` does not wait for something to show.
    operator.events.clear()
    operator.down()
    assert not [event for event in operator.named("waiting") if "interrupted launch" in event["what"]]
    assert operator.resources() == []


def test_a_type_that_only_zone_b_offers_lands_there(operator: Any) -> None:
    operator.up(instance_type="g6e.xlarge", fallbacks="")
    assert operator.instances()[0]["Placement"]["AvailabilityZone"] == "cn-northwest-1b"


def test_a_type_that_the_subnets_zone_does_not_offer_is_refused(
    operator: Any, boto: Callable[..., Any], refused: Callable[..., Any]
) -> None:
    zone = [{"Name": "availability-zone", "Values": ["cn-northwest-1a"]}]
    subnet = boto("ec2").describe_subnets(Filters=zone)["Subnets"][0]["SubnetId"]
    network = f"network:\n  subnet: {subnet}\n"
    error = refused(lambda: operator.up(network, instance_type="g6e.xlarge", fallbacks=""))
    assert error.exit_code == 3
    assert "only in cn-northwest-1b" in error.message
    assert operator.instances() == []


def test_a_profile_that_ec2_does_not_see_yet_is_waited_for(operator: Any) -> None:
    operator.cloud.world.options = operator.cloud.world.options.changed({"profile_lag_seconds": 1.0})
    operator.up()
    assert len(operator.instances()) == 1


def test_no_room_for_the_new_one_leaves_the_old_one_serving(operator: Any, refused: Callable[..., Any]) -> None:
    old = operator.up().instance_id
    operator.fault(**CAPACITY)
    error = refused(lambda: operator.up(context=8192))
    assert error.exit_code == 4
    assert f"{old} serves as before" in error.message
    assert operator.target().list_stacks()[0].phase == "ready"
    operator.cloud.faults.clear()
    assert operator.up().changes == 0
    assert [one["InstanceId"] for one in operator.instances()] == [old]


def test_one_zone_of_the_second_type_has_room_and_gets_the_launch(operator: Any, boto: Callable[..., Any]) -> None:
    subnets = {one["AvailabilityZone"]: one["SubnetId"] for one in boto("ec2").describe_subnets()["Subnets"]}
    operator.fault(**CAPACITY, where={"InstanceType": "g5.xlarge"})
    for zone in ("cn-northwest-1a", "cn-northwest-1b"):
        operator.fault(**CAPACITY, where={"InstanceType": "g5.2xlarge", "SubnetId": subnets[zone]})
    operator.up()
    [one] = operator.instances()
    where = (one["InstanceType"], one["Placement"]["AvailabilityZone"])
    assert where == ("g5.2xlarge", "cn-northwest-1c")
    tried = outcomes(operator)
    assert tried[-1] == (*where, "launched")
    assert [outcome for *_, outcome in tried[:-1]] == ["refused"] * (len(tried) - 1)


def market(one: Any) -> str:
    return "spot" if one.get("InstanceLifecycle") == "spot" else "on-demand"


def test_spot_first_takes_on_demand_only_after_every_place_had_no_spot(operator: Any) -> None:
    operator.fault(**CAPACITY, where={"InstanceMarketOptions.MarketType": "spot"})
    operator.up(market="spot-first")
    tried = [(a["market"], a["instance_type"], a["zone"]) for a in operator.named("attempt")]
    spot, last = tried[:-1], tried[-1]
    assert {(kind, place) for _, kind, place in spot} > {last[1:]}
    assert {bought for bought, *_ in spot} == {"spot"}
    assert last[0] == "on-demand"
    [one] = operator.instances()
    assert market(one) == "on-demand"
    # What serves is what the spec allows; a spec that wants spot alone has it replaced, and the other way round.
    assert operator.up(market="spot-first").changes == 0
    operator.cloud.faults.clear()
    plan = operator.target().plan(operator.deployment(market="spot"))
    [step] = [step for step in plan.steps if step.kind == "instance"]
    assert (step.action, step.reason.partition(";")[0]) == ("replace", "instance.market was on-demand and is spot")
    bought = operator.up(market="spot").instance_id
    assert [market(one) for one in operator.instances()] == ["spot"]
    assert operator.up(market="spot-first").instance_id == bought


@pytest.mark.parametrize(
    ("code", "bought", "name", "number"),
    [
        ("VcpuLimitExceeded", "on-demand", "Running On-Demand G and VT instances", "L-DB2E81BA"),
        ("MaxSpotInstanceCountExceeded", "spot-first", "All G and VT Spot Instance Requests", "L-3819A6DF"),
    ],
)
def test_a_vcpu_quota_is_told_with_its_name_code_and_value(
    operator: Any, refused: Callable[..., Any], code: str, bought: str, name: str, number: str
) -> None:
    operator.cloud.world.options = operator.cloud.world.options.changed({"vcpu_quota": {"G and VT": 2}})
    error = refused(lambda: operator.up(market=bought))
    told = error.as_dict()["error"]
    assert (error.exit_code, told["code"]) == (3, "quota")
    assert told["quota"] == {"name": name, "code": number, "value": 2.0}
    assert f"{name} ({number}) is 2 vCPUs and g5.xlarge takes 4" in error.message
    assert number in error.hint
    assert [row["aws_code"] for row in told["attempts"]] == [code]
    assert operator.instances() == []


def test_a_quota_that_may_not_be_read_is_unknown(operator: Any, refused: Callable[..., Any]) -> None:
    operator.fault(**{**CAPACITY, "code": "VcpuLimitExceeded"})
    operator.fault(service="servicequotas", code="AccessDeniedException", times=0)
    error = refused(operator.up)
    assert error.exit_code == 3
    assert error.as_dict()["error"]["quota"]["value"] is None
    assert "is unknown" in error.message
