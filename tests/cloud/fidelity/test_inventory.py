"""The inventory sees whatever was made, and nothing of a fresh account."""

from __future__ import annotations

import json

import pytest

EMPTY = {"resources": [], "machines": []}
ASSUME = {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com.cn"}, "Action": "sts:AssumeRole"}
TRUST = json.dumps({"Version": "2012-10-17", "Statement": [ASSUME]})


def test_a_fresh_account_is_empty_also_after_reading(cloud, boto):
    boto("ec2").describe_instances()
    boto("ec2", region="cn-north-1").describe_vpcs()
    boto("iam").list_roles()
    boto("sts").get_caller_identity()
    boto("ssm").describe_parameters()
    assert cloud.status() == EMPTY


@pytest.mark.parametrize("region", ["us-east-1", "eu-central-1", "cn-north-1"])
def test_reading_another_region_makes_nothing(cloud, boto, region):
    boto("ssm", region=region).get_parameters_by_path(Path="/aws/service/ami-amazon-linux-latest")
    boto("ssm", region=region).describe_parameters()
    boto("ec2", region=region).describe_images(Owners=["amazon"])
    boto("iam", region=region).list_policies()
    boto("kms", region=region).list_aliases()
    assert cloud.status() == EMPTY


@pytest.mark.parametrize("first", ["cn-northwest-1", "cn-north-1"])
def test_what_is_global_is_seen_whichever_region_signed_for_it(cloud, boto, first):
    (second,) = {"cn-northwest-1", "cn-north-1"} - {first}
    boto("iam", region=first).create_role(RoleName="r", AssumeRolePolicyDocument=TRUST)
    assert boto("iam", region=second).list_roles()["Roles"]
    assert cloud.status()["resources"] == ["iam:roles:" + _role_id(boto)]


def test_a_key_that_was_there_before_ec2_is_seen(cloud, boto):
    key = boto("kms", region="us-west-2").create_key()["KeyMetadata"]["KeyId"]
    boto("ec2", region="us-west-2").describe_vpcs()
    assert cloud.status()["resources"] == [f"kms:keys:{key}"]


def _role_id(boto) -> str:
    return boto("iam").get_role(RoleName="r")["Role"]["RoleId"]


def test_everything_of_a_stack_is_seen_and_gone_again(cloud, boto, ec2, until):
    iam, ssm = boto("iam"), boto("ssm")
    group = ec2.client.create_security_group(GroupName="g", Description="d")["GroupId"]
    ec2.client.create_key_pair(KeyName="k", KeyType="ed25519")
    iam.create_role(RoleName="r", AssumeRolePolicyDocument=TRUST)
    iam.create_instance_profile(InstanceProfileName="ip")
    iam.add_role_to_instance_profile(InstanceProfileName="ip", RoleName="r")
    ssm.put_parameter(Name="/deployer/keys/x", Value="v", Type="SecureString")
    disk = {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 60, "VolumeType": "gp3", "Encrypted": True}}
    made = ec2.run(
        SecurityGroupIds=[group], KeyName="k", IamInstanceProfile={"Name": "ip"}, BlockDeviceMappings=[disk]
    )["InstanceId"]

    found = cloud.status()
    kinds = {name.rpartition(":")[0] for name in found["resources"]}
    assert kinds == {
        "ec2:enis",
        "ec2:groups",
        "ec2:iam_instance_profile_associations",
        "ec2:instances",
        "ec2:key_pairs",
        "ec2:volumes",
        "iam:instance_profiles",
        "iam:roles",
        "ssm:parameters",
    }
    assert f"ec2:instances:{made}" in found["resources"]
    assert "ssm:parameters:/deployer/keys/x" in found["resources"]
    assert found["machines"] == [made]

    ec2.client.terminate_instances(InstanceIds=[made])
    until(lambda: ec2.state(made) == "terminated")
    ec2.client.delete_security_group(GroupId=group)
    ec2.client.delete_key_pair(KeyName="k")
    iam.remove_role_from_instance_profile(InstanceProfileName="ip", RoleName="r")
    iam.delete_instance_profile(InstanceProfileName="ip")
    iam.delete_role(RoleName="r")
    ssm.delete_parameter(Name="/deployer/keys/x")
    assert cloud.status() == EMPTY


def test_things_the_product_does_not_know_are_seen_too(cloud, boto, ec2):
    ec2.client.allocate_address(Domain="vpc")
    ec2.client.create_launch_template(LaunchTemplateName="t", LaunchTemplateData={"ImageId": ec2.image})
    boto("ec2", region="cn-north-1").create_security_group(GroupName="far", Description="d")
    boto("iam").create_user(UserName="u")
    kinds = sorted(name.rpartition(":")[0] for name in cloud.status()["resources"])
    assert kinds[0] == "ec2:addresses"
    assert "ec2:groups" in kinds
    assert "iam:users" in kinds
    assert any(kind.startswith("ec2:launch_templates") for kind in kinds)


def test_clouds_of_one_process_do_not_see_each_other(cloud, boto, plain_moto):
    plain_moto("ec2").create_security_group(GroupName="foreign", Description="d")
    assert cloud.status() == EMPTY
