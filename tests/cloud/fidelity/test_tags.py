"""E20: whatever carries a tag is found by that tag alone."""

from __future__ import annotations

import json

import pytest

TAG = {"Key": "deployer:stack", "Value": "lost"}
BY_TAG = [{"Name": "tag:deployer:stack", "Values": ["lost"]}]
BY_KEY = [{"Name": "tag-key", "Values": ["deployer:stack"]}]


def _spec(*kinds: str) -> list[dict]:
    return [{"ResourceType": kind, "Tags": [TAG]} for kind in kinds]


@pytest.fixture
def tagged(ec2) -> dict[str, str]:
    group = ec2.client.create_security_group(GroupName="g", Description="d", TagSpecifications=_spec("security-group"))[
        "GroupId"
    ]
    key = ec2.client.create_key_pair(KeyName="k", KeyType="ed25519", TagSpecifications=_spec("key-pair"))["KeyPairId"]
    instance = ec2.run(TagSpecifications=_spec("instance", "volume", "network-interface"))
    ec2.client.create_security_group(GroupName="foreign", Description="d")
    ec2.run()
    return {"group": group, "key": key, "instance": instance["InstanceId"]}


@pytest.mark.parametrize("filters", [BY_TAG, BY_KEY])
def test_describes_filter_by_tag(ec2, tagged, filters):
    client = ec2.client
    reservations = client.describe_instances(Filters=filters)["Reservations"]
    assert [i["InstanceId"] for r in reservations for i in r["Instances"]] == [tagged["instance"]]
    groups = client.describe_security_groups(Filters=filters)["SecurityGroups"]
    assert [g["GroupId"] for g in groups] == [tagged["group"]]
    assert [k["KeyPairId"] for k in client.describe_key_pairs(Filters=filters)["KeyPairs"]] == [tagged["key"]]
    assert len(client.describe_volumes(Filters=filters)["Volumes"]) == 1
    assert len(client.describe_network_interfaces(Filters=filters)["NetworkInterfaces"]) == 1


def test_the_tags_themselves_are_listed(ec2, tagged):
    found = ec2.client.describe_tags(Filters=[{"Name": "key", "Values": [TAG["Key"]]}])["Tags"]
    kinds = {tag["ResourceType"] for tag in found}
    assert kinds == {"instance", "volume", "network-interface", "security-group", "key-pair"}


def test_roles_and_parameters_keep_their_tags(boto):
    iam, ssm = boto("iam"), boto("ssm")
    allow = {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com.cn"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [allow]})
    iam.create_role(RoleName="r", AssumeRolePolicyDocument=document, Tags=[TAG])
    assert iam.list_role_tags(RoleName="r")["Tags"] == [TAG]
    ssm.put_parameter(Name="/p", Value="v", Type="String", Tags=[TAG])
    assert ssm.list_tags_for_resource(ResourceType="Parameter", ResourceId="/p")["TagList"] == [TAG]
    found = ssm.describe_parameters(ParameterFilters=[{"Key": "tag:deployer:stack", "Values": ["lost"]}])["Parameters"]
    assert [p["Name"] for p in found] == ["/p"]


def test_the_tagging_api_finds_instances(boto, tagged):
    found = boto("resourcegroupstaggingapi").get_resources(TagFilters=[{"Key": TAG["Key"], "Values": ["lost"]}])
    arns = [item["ResourceARN"] for item in found["ResourceTagMappingList"]]
    assert any(arn.endswith(tagged["instance"]) for arn in arns)
    assert all(arn.startswith("arn:aws-cn:") for arn in arns)
