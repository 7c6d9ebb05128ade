"""The main path without machines: up, up again, down, nothing left."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from deployer.targets.ec2 import offline_plan


def test_up_makes_everything_and_down_leaves_nothing(operator: Any) -> None:
    result = operator.up()
    assert result.changes == 8
    assert [one["InstanceId"] for one in operator.instances()] == [result.instance_id]
    done = operator.down()
    assert f"instance {result.instance_id}" in done.deleted
    assert done.deleted[-1] == "stack-record /deployer/stacks/demo"
    assert operator.resources() == []


def test_a_second_up_changes_nothing(operator: Any) -> None:
    first = operator.up()
    operator.events.clear()
    second = operator.up()
    assert (second.changes, second.instance_id) == (0, first.instance_id)
    assert operator.named("step.start") == []
    assert operator.seen == [first.instance_id, first.instance_id]


def test_down_twice_and_down_of_nothing(operator: Any) -> None:
    operator.up()
    assert operator.down().deleted
    assert operator.down().deleted == ()
    assert operator.down("never-was").deleted == ()
    assert operator.resources() == []


def test_the_offline_plan_has_the_steps_that_up_runs(operator: Any) -> None:
    planned = offline_plan(operator.deployment())
    operator.up()
    assert {step.kind: step.action for step in planned.steps} == operator.actions()


def test_down_works_from_another_machine_and_by_tags_alone(
    operator: Any, another_operator: Callable[[], Any], boto: Callable[..., Any]
) -> None:
    operator.up()
    boto("ssm").delete_parameter(Name="/deployer/stacks/demo")
    done = another_operator().down()
    assert not any(name.startswith("stack-record") for name in done.deleted)
    assert operator.resources() == []


def test_what_the_instance_is_launched_with(operator: Any, boto: Callable[..., Any]) -> None:
    operator.up()
    [one] = operator.instances()
    tags = {tag["Key"]: tag["Value"] for tag in one["Tags"]}
    assert tags["deployer:stack"] == "demo"
    assert tags["deployer:generation"] == "1"
    assert tags["deployer:expires-at"].endswith("Z")
    assert tags["team"] == "research"
    assert one["MetadataOptions"]["HttpTokens"] == "required"
    assert one["MetadataOptions"]["HttpPutResponseHopLimit"] == 1
    volumes = boto("ec2").describe_volumes()["Volumes"]
    assert [(volume["Encrypted"], volume["VolumeType"]) for volume in volumes] == [(True, "gp3")]
    assert {tag["Key"] for tag in volumes[0]["Tags"]} >= {"deployer:stack", "team"}
    [group] = one["SecurityGroups"]
    rules = boto("ec2").describe_security_groups(GroupIds=[group["GroupId"]])["SecurityGroups"][0]["IpPermissions"]
    assert [(rule["FromPort"], rule["IpRanges"][0]["CidrIp"]) for rule in rules] == [(22, "203.0.113.7/32")]


def test_policies_know_the_partition_and_nothing_too_much(operator: Any, boto: Callable[..., Any]) -> None:
    operator.up("", name="demo")
    iam = boto("iam")
    role = iam.get_role(RoleName="deployer-demo-role-cn-northwest-1")["Role"]
    policy = iam.get_role_policy(RoleName=role["RoleName"], PolicyName="deployer")["PolicyDocument"]
    text = json.dumps([role["AssumeRolePolicyDocument"], policy])
    assert "arn:aws:" not in text
    assert role["AssumeRolePolicyDocument"]["Statement"][0]["Principal"] == {"Service": "ec2.amazonaws.com.cn"}
    key, program = policy["Statement"]
    assert key["Action"] == "ssm:GetParameter"
    assert key["Resource"].endswith(":parameter/deployer/keys/demo")
    assert program["Action"] == "ssm:GetParameters"
    ends = [":parameter/deployer/agents/demo/*", ":parameter/deployer/stacks/demo"]
    assert all(resource.endswith(end) for resource, end in zip(program["Resource"], ends, strict=True))


def test_the_api_key_is_nowhere_but_in_its_parameter(operator: Any, boto: Callable[..., Any]) -> None:
    operator.up()
    key = boto("ssm").get_parameter(Name="/deployer/keys/demo", WithDecryption=True)["Parameter"]["Value"]
    [one] = operator.instances()
    data = boto("ec2").describe_instance_attribute(InstanceId=one["InstanceId"], Attribute="userData")
    record = boto("ssm").get_parameter(Name="/deployer/stacks/demo")["Parameter"]["Value"]
    seen = json.dumps([data, one, record, [dict(event.fields) for event in operator.events]], default=str)
    assert len(key) > 20
    assert key not in seen
    assert "PRIVATE KEY" not in seen
    assert len(record) < 4096


def test_stacks_are_listed_and_shown(operator: Any, refused: Callable[..., Any]) -> None:
    for name in ("one", "two"):
        operator.up(name=name)
    target = operator.target()
    assert [(stack.stack, stack.phase, stack.instance_type) for stack in target.list_stacks()] == [
        ("one", "ready", "g5.xlarge"),
        ("two", "ready", "g5.xlarge"),
    ]
    status = target.status("one")
    kinds = {entry["kind"] for entry in status.details["resources"]}
    free = {"security-group", "key-pair", "role", "instance-profile", "api-key", "agent-program"}
    assert kinds == {"instance", *free}
    assert status.expires_at is not None
    assert refused(lambda: target.status("three")).exit_code == 3
