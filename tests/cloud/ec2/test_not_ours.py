"""What carries our name but not our tag is never touched; what the spec names is never deleted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

NAME = "deployer-demo-security-group"


def make_group(boto: Callable[..., Any], name: str) -> str:
    ec2 = boto("ec2")
    vpc = ec2.describe_vpcs()["Vpcs"][0]["VpcId"]
    made: str = ec2.create_security_group(GroupName=name, Description="theirs", VpcId=vpc)["GroupId"]
    return made


def make_foreign(kind: str, boto: Callable[..., Any]) -> None:
    match kind:
        case "security group":
            make_group(boto, NAME)
        case "key pair":
            boto("ec2").create_key_pair(KeyName="deployer-demo-key-pair")
        case "role":
            document = (
                '{"Version":"2012-10-17","Statement":[{"Effect":"Allow",'
                '"Principal":{"Service":"ec2.amazonaws.com.cn"},"Action":"sts:AssumeRole"}]}'
            )
            name = "deployer-demo-role-cn-northwest-1"
            boto("iam", region="cn-north-1").create_role(RoleName=name, AssumeRolePolicyDocument=document)
        case "instance profile":
            boto("iam", region="cn-north-1").create_instance_profile(
                InstanceProfileName="deployer-demo-profile-cn-northwest-1"
            )
        case "parameter":
            boto("ssm").put_parameter(Name="/deployer/keys/demo", Value="theirs", Type="String")


@pytest.mark.parametrize("kind", ["security group", "key pair", "role", "instance profile", "parameter"])
def test_a_name_that_is_taken_refuses_up_and_survives_down(
    operator: Any, boto: Callable[..., Any], refused: Callable[..., Any], kind: str
) -> None:
    make_foreign(kind, boto)
    before = operator.resources()
    error = refused(operator.up)
    assert error.exit_code == 3
    assert kind in error.message
    assert operator.instances() == []
    operator.down()
    assert operator.resources() == before
    assert any("not ours" in str(event["message"]) for event in operator.named("warning"))


def test_the_users_own_group_is_used_and_left_alone(operator: Any, boto: Callable[..., Any]) -> None:
    group = make_group(boto, "theirs")
    before = operator.resources()
    operator.up(f"network:\n  security_group: {group}\n")
    [one] = operator.instances()
    assert [g["GroupId"] for g in one["SecurityGroups"]] == [group]
    assert boto("ec2").describe_security_groups(GroupIds=[group])["SecurityGroups"][0]["IpPermissions"] == []
    operator.down()
    assert operator.resources() == before


def test_the_users_own_subnet_is_where_it_lands(operator: Any, boto: Callable[..., Any]) -> None:
    subnet = boto("ec2").describe_subnets()["Subnets"][-1]
    operator.up(f"network:\n  subnet: {subnet['SubnetId']}\n")
    assert operator.instances()[0]["SubnetId"] == subnet["SubnetId"]


def test_an_instance_of_another_stack_is_not_ours(operator: Any) -> None:
    operator.up(name="other")
    operator.up()
    operator.down()
    [one] = operator.instances()
    assert {tag["Key"]: tag["Value"] for tag in one["Tags"]}["deployer:stack"] == "other"
