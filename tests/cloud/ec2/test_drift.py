"""What somebody changed behind our back shows in `status` and in the plan, and `up` repairs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.cloud.ec2.test_change import group_of


def _drift(operator: Any) -> list[str]:
    found: list[str] = operator.target().status("demo").details["drift"]
    return found


def test_rules_a_stop_and_lost_things(operator: Any, boto: Callable[..., Any]) -> None:
    instance = operator.up().instance_id
    assert _drift(operator) == []
    ec2, group = boto("ec2"), group_of(boto)
    opened = {"IpProtocol": "tcp", "FromPort": 8080, "ToPort": 8080, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
    ec2.authorize_security_group_ingress(GroupId=group["GroupId"], IpPermissions=[opened])
    ec2.revoke_security_group_ingress(GroupId=group["GroupId"], IpPermissions=group["IpPermissions"])
    ec2.delete_key_pair(KeyName="deployer-demo-key-pair")
    ec2.stop_instances(InstanceIds=[instance])
    seen = _drift(operator)
    for word in ("is stop", "key-pair is gone", "admits nobody on port", "tcp 8080 from 0.0.0.0/0"):
        assert any(word in text for text in seen), seen
    changed = {step.kind for step in operator.target().plan(operator.deployment()).steps if step.action != "keep"}
    assert {"instance", "key-pair", "security-group"} <= changed
    assert operator.up().instance_id == instance
    assert _drift(operator) == []


def test_a_removed_tag(operator: Any, boto: Callable[..., Any]) -> None:
    instance = operator.up().instance_id
    boto("ec2").delete_tags(Resources=[instance], Tags=[{"Key": "deployer:stack"}])
    assert any("tag" in text or "ended" in text for text in _drift(operator)), _drift(operator)
    operator.up()
    assert _drift(operator) == []
    assert operator.instances()[0]["InstanceId"] == instance, "it is tagged again, not launched again"
