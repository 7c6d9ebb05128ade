"""E12, E18: documents of another partition are refused, roles in use stay, EC2 checks the profile."""

from __future__ import annotations

import json

import pytest

from deployer.catalog import partition

CHINA = partition.for_region("cn-northwest-1")


def _trust(principal: str) -> str:
    return json.dumps(
        {
            "Version": "2012-10-17",
            "Statement": [{"Effect": "Allow", "Principal": {"Service": principal}, "Action": "sts:AssumeRole"}],
        }
    )


def _policy(resource: str) -> str:
    statement = {"Effect": "Allow", "Action": "ssm:GetParameter", "Resource": resource}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


@pytest.fixture
def iam(boto):
    return boto("iam")


@pytest.fixture
def role(iam) -> str:
    iam.create_role(RoleName="r", AssumeRolePolicyDocument=_trust("ec2.amazonaws.com.cn"))
    return "r"


def test_names_are_those_of_china(iam, role):
    assert iam.get_role(RoleName=role)["Role"]["Arn"].startswith("arn:aws-cn:iam::")


@pytest.mark.parametrize("service", ["eks", "sqs", "events"])
def test_a_wrong_principal_is_refused_and_nothing_is_made(iam, refused, service):
    document = _trust(f"{service}.{CHINA.dns_suffix}")
    code = refused(iam.create_role, RoleName="r", AssumeRolePolicyDocument=document)
    assert code == "MalformedPolicyDocument"
    assert iam.list_roles()["Roles"] == []


def test_resources_of_another_partition_are_refused(iam, role, refused):
    wrong, right = "arn:aws:ssm:*:*:parameter/x", "arn:aws-cn:ssm:*:*:parameter/x"
    put = {"RoleName": role, "PolicyName": "p"}
    assert refused(iam.put_role_policy, PolicyDocument=_policy(wrong), **put) == "MalformedPolicyDocument"
    assert iam.list_role_policies(RoleName=role)["PolicyNames"] == []
    iam.put_role_policy(PolicyDocument=_policy(right), **put)


def test_a_policy_comes_back_as_it_was_written(iam, role):
    document = json.loads(_policy("arn:aws-cn:ssm:*:*:parameter/x"))
    document["Statement"][0]["Condition"] = {"StringEquals": {"iam:PassedToService": ["ec2.amazonaws.com"]}}
    iam.put_role_policy(RoleName=role, PolicyName="p", PolicyDocument=json.dumps(document))
    assert iam.get_role_policy(RoleName=role, PolicyName="p")["PolicyDocument"] == document


def test_a_role_is_taken_out_of_its_profile_once(iam, role, refused):
    iam.create_instance_profile(InstanceProfileName="ip")
    both = {"InstanceProfileName": "ip", "RoleName": role}
    assert refused(iam.remove_role_from_instance_profile, **both) == "NoSuchEntity"
    iam.add_role_to_instance_profile(**both)
    iam.remove_role_from_instance_profile(**both)
    assert refused(iam.remove_role_from_instance_profile, **both) == "NoSuchEntity"
    absent = both | {"InstanceProfileName": "none"}
    assert refused(iam.remove_role_from_instance_profile, **absent) == "NoSuchEntity"
    assert refused(iam.remove_role_from_instance_profile, **both | {"RoleName": "none"}) == "NoSuchEntity"


def test_a_role_goes_last(iam, role, refused):
    iam.put_role_policy(RoleName=role, PolicyName="p", PolicyDocument=_policy("*"))
    iam.create_instance_profile(InstanceProfileName="ip")
    iam.add_role_to_instance_profile(InstanceProfileName="ip", RoleName=role)
    assert refused(iam.delete_role, RoleName=role) == "DeleteConflict"
    assert refused(iam.delete_instance_profile, InstanceProfileName="ip") == "DeleteConflict"
    iam.remove_role_from_instance_profile(InstanceProfileName="ip", RoleName=role)
    iam.delete_instance_profile(InstanceProfileName="ip")
    assert refused(iam.delete_role, RoleName=role) == "DeleteConflict"
    iam.delete_role_policy(RoleName=role, PolicyName="p")
    iam.delete_role(RoleName=role)


def test_ec2_checks_the_profile(iam, ec2, role, refused):
    profile = {"IamInstanceProfile": {"Name": "ip"}}
    assert refused(ec2.run, **profile) == "InvalidParameterValue"
    iam.create_instance_profile(InstanceProfileName="ip")
    assert refused(ec2.run, **profile) == "InvalidParameterValue"
    iam.add_role_to_instance_profile(InstanceProfileName="ip", RoleName=role)
    assert ec2.run(**profile)["InstanceId"]


def test_the_instance_finds_its_role_in_its_metadata(cloud, iam, ec2, role):
    iam.create_instance_profile(InstanceProfileName="ip")
    iam.add_role_to_instance_profile(InstanceProfileName="ip", RoleName=role)
    made = ec2.run(IamInstanceProfile={"Name": "ip"})["InstanceId"]
    found = cloud.fleet.get(made).launch.metadata
    credentials = json.loads(found[f"iam/security-credentials/{role}"])
    assert credentials["Code"] == "Success"
    assert credentials["AccessKeyId"].startswith("ASIA")
    assert found["services/domain"] == CHINA.dns_suffix
