"""A stack that is there already: drift is repaired, a changed spec replaces, a failure keeps what served."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from deployer.aws.names import Names
from deployer.aws.tags import expires_at, from_aws


def group_of(boto: Callable[..., Any]) -> dict[str, Any]:
    filters = [{"Name": "group-name", "Values": ["deployer-demo-security-group"]}]
    found: dict[str, Any] = boto("ec2").describe_security_groups(Filters=filters)["SecurityGroups"][0]
    return found


def test_a_changed_context_replaces_and_ends_the_old_one_last(operator: Any) -> None:
    old = operator.up().instance_id
    plan = operator.target().plan(operator.deployment(context=8192))
    assert {s.kind: s.action for s in plan.steps if s.action != "keep"} == {
        "stack-record": "update",
        "instance": "replace",
    }
    operator.events.clear()
    new = operator.up(context=8192).instance_id
    assert new != old
    assert [one["InstanceId"] for one in operator.instances()] == [new]
    done = [(s["action"], s["kind"]) for s in operator.named("step.done")]
    assert done == [("update", "stack-record"), ("replace", "instance"), ("delete", "instance")]
    tags = {tag["Key"]: tag["Value"] for tag in operator.instances()[0]["Tags"]}
    assert tags["deployer:generation"] == "2"
    operator.down()
    assert operator.resources() == []


def test_when_the_new_one_is_ill_the_old_one_stays(operator: Any, refused: Callable[..., Any]) -> None:
    old = operator.up().instance_id
    operator.healthy = False
    error = refused(lambda: operator.up(context=8192))
    assert error.exit_code == 6
    assert "still does" in error.hint
    assert [one["InstanceId"] for one in operator.instances()] == [old]
    operator.healthy = True
    assert operator.up().changes == 0
    new = operator.up(context=8192).instance_id
    assert [one["InstanceId"] for one in operator.instances()] == [new]
    operator.down()
    assert operator.resources() == []


def test_the_first_one_stays_to_be_looked_at_when_it_is_ill(operator: Any, refused: Callable[..., Any]) -> None:
    operator.healthy = False
    error = refused(operator.up)
    assert "deployer down demo" in error.hint
    [one] = operator.instances()
    assert operator.target().list_stacks()[0].phase == "failed"
    operator.healthy = True
    assert operator.up().instance_id == one["InstanceId"]


def test_another_lifetime_is_another_instance_and_the_plan_says_why(operator: Any) -> None:
    first = operator.up()
    [step] = [s for s in operator.target().plan(operator.deployment(ttl="5h")).steps if s.kind == "instance"]
    assert step.action == "replace"
    assert "lifetime.ttl was 8h and is 5h" in step.reason
    second = operator.up(ttl="5h")
    [one] = operator.instances()
    assert one["InstanceId"] == second.instance_id != first.instance_id
    left = operator.target().list_stacks()[0].expires_at - operator.clock.now()
    assert 4.9 * 3600 < left <= 5 * 3600
    assert abs(expires_at(from_aws(one["Tags"])) - operator.clock.now() - left) < 5
    assert operator.up(ttl="5h").changes == 0


def test_tags_are_changed_in_place_on_everything(operator: Any, boto: Callable[..., Any]) -> None:
    made = operator.up().instance_id
    boto("ec2").create_tags(Resources=[made], Tags=[{"Key": "theirs", "Value": "stays"}])
    changed = operator.deployment().spec.model_dump(mode="json", exclude_none=True)
    changed["tags"] = {"team": "blue", "cost": "42"}
    plan = operator.target().plan(operator.parsed(changed))
    assert {(s.action, s.kind) for s in plan.steps if s.action != "keep"} == {
        ("update", "stack-record"),
        ("update", "tags"),
    }
    assert operator.target().up(operator.parsed(changed)).instance_id == made
    for tags in every_tagged(operator, boto):
        assert (tags["team"], tags["cost"]) == ("blue", "42")
    changed["tags"] = {"cost": "42"}
    assert operator.target().up(operator.parsed(changed)).changes == 2
    for tags in every_tagged(operator, boto):
        assert tags["cost"] == "42"
        assert "team" not in tags
    assert from_aws(operator.instances()[0]["Tags"])["theirs"] == "stays"
    assert operator.target().up(operator.parsed(changed)).changes == 0
    operator.down()
    assert operator.resources() == []


def every_tagged(operator: Any, boto: Callable[..., Any]) -> list[dict[str, str]]:
    """The tags of each thing that a stack is made of."""
    ec2, iam, ssm = boto("ec2"), boto("iam"), boto("ssm")
    ids = {"Filters": [{"Name": "tag:deployer:stack", "Values": ["demo"]}]}
    ec2_tags = [
        *(one["Tags"] for one in operator.instances()),
        *(one["Tags"] for one in ec2.describe_volumes(**ids)["Volumes"]),
        *(one["TagSet"] for one in ec2.describe_network_interfaces(**ids)["NetworkInterfaces"]),
        group_of(boto)["Tags"],
        ec2.describe_key_pairs()["KeyPairs"][0]["Tags"],
    ]
    names = Names("demo", "cn-northwest-1")
    profile = iam.get_instance_profile(InstanceProfileName=names.instance_profile)["InstanceProfile"]
    others = [iam.get_role(RoleName=names.role)["Role"]["Tags"], profile["Tags"]]
    programs = ssm.get_parameters_by_path(Path=names.programs, Recursive=True)["Parameters"]
    for name in (names.record, names.api_key, *(one["Name"] for one in programs)):
        others.append(ssm.list_tags_for_resource(ResourceType="Parameter", ResourceId=name)["TagList"])
    assert len(ec2_tags) >= 5
    return [from_aws(tags) for tags in [*ec2_tags, *others]]


def test_rules_changed_by_hand_are_repaired(operator: Any, boto: Callable[..., Any]) -> None:
    operator.up()
    group = group_of(boto)
    ec2 = boto("ec2")
    opened = {"IpProtocol": "tcp", "FromPort": 8080, "ToPort": 8080, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
    everything = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "198.51.100.0/24"}]}
    ec2.authorize_security_group_ingress(GroupId=group["GroupId"], IpPermissions=[opened, everything])
    ec2.revoke_security_group_ingress(GroupId=group["GroupId"], IpPermissions=group["IpPermissions"])
    operator.events.clear()
    assert operator.up().changes == 1
    assert operator.actions() == {"security-group": "update"}
    assert group_of(boto)["IpPermissions"] == group["IpPermissions"]


def test_a_policy_changed_by_hand_is_repaired(operator: Any, boto: Callable[..., Any]) -> None:
    operator.up()
    boto("iam").delete_role_policy(RoleName="deployer-demo-role-cn-northwest-1", PolicyName="deployer")
    assert operator.up().changes == 1
    assert operator.up().changes == 0


def test_a_stopped_instance_is_started(operator: Any, boto: Callable[..., Any]) -> None:
    first = operator.up()
    boto("ec2").stop_instances(InstanceIds=[first.instance_id])
    second = operator.up()
    assert (second.changes, second.instance_id) == (1, first.instance_id)
    assert operator.instances()[0]["State"]["Name"] in ("pending", "running")


def test_a_terminated_instance_is_launched_again_under_another_token(operator: Any, boto: Callable[..., Any]) -> None:
    first = operator.up()
    boto("ec2").terminate_instances(InstanceIds=[first.instance_id])
    second = operator.up()
    assert second.instance_id != first.instance_id
    assert [one["InstanceId"] for one in operator.instances()] == [second.instance_id]


def test_a_lost_record_is_made_again_around_the_running_instance(operator: Any, boto: Callable[..., Any]) -> None:
    first = operator.up()
    [before] = operator.target().list_stacks()
    boto("ssm").delete_parameter(Name="/deployer/stacks/demo")
    second = operator.up()
    assert (second.changes, second.instance_id) == (1, first.instance_id)
    [after] = operator.target().list_stacks()
    assert abs(after.expires_at - before.expires_at) < 1


def test_an_exposed_port_opens_for_the_networks_that_the_spec_names(
    operator: Any, boto: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # There is no machine behind the address, and no test asks one that is not its own.
    monkeypatch.setattr("deployer.targets.ec2_outside.look", lambda _client: "timed out")
    first = operator.up()
    extra = operator.deployment().spec.model_dump(mode="json", exclude_none=True)
    extra["endpoint"] = {"expose": "private", "port": 18080, "allow": ["10.0.0.0/8"]}
    result = operator.target().up(operator.parsed(extra))
    assert result.url is not None
    assert any("no way leads there from here" in str(one["message"]) for one in operator.named("warning"))
    rules = {(r["FromPort"], r["IpRanges"][0]["CidrIp"]) for r in group_of(boto)["IpPermissions"]}
    assert rules == {(22, "203.0.113.7/32"), (18080, "10.0.0.0/8")}
    assert result.instance_id != first.instance_id


def test_a_colleague_without_the_private_key_is_told_so(
    operator: Any, another_operator: Callable[[], Any], refused: Callable[..., Any]
) -> None:
    operator.up()
    error = refused(another_operator().up)
    assert error.exit_code == 3
    assert "private key" in error.message
    assert "copy that file from the machine that ran `deployer up` first" in error.hint
    assert len(operator.instances()) == 1
