"""Each gap of moto that a rule of ours fills, pinned against plain moto: when one of these fails, moto has improved and

the rule may go. The client here talks to moto without any of our rules.
"""

from __future__ import annotations

import json

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError

IMAGE = "ami-00000000000000001"


@pytest.fixture
def ec2(plain_moto):
    return plain_moto("ec2")


def _run(ec2, **changes):
    request = {"ImageId": IMAGE, "InstanceType": "g5.xlarge", "MinCount": 1, "MaxCount": 1} | changes
    return ec2.run_instances(**request)["Instances"][0]


def test_e1_one_token_launches_twice(ec2):
    assert _run(ec2, ClientToken="t")["InstanceId"] != _run(ec2, ClientToken="t")["InstanceId"]


def test_e1_there_is_no_token_filter(ec2, monkeypatch):
    from moto.ec2.utils import filter_dict_attribute_mapping

    # Our own seeding is process-wide; take it away for this test.
    monkeypatch.delitem(filter_dict_attribute_mapping, "client-token", raising=False)
    _run(ec2)
    # moto's server dies of NotImplementedError inside the request.
    with pytest.raises(ConnectionClosedError):
        ec2.describe_instances(Filters=[{"Name": "client-token", "Values": ["t"]}])


def test_e2_user_data_has_no_limit(ec2):
    assert _run(ec2, UserData="x" * 16_385)


def test_e3_states_take_no_time(ec2):
    made = _run(ec2)["InstanceId"]

    def state() -> str:
        return ec2.describe_instances(InstanceIds=[made])["Reservations"][0]["Instances"][0]["State"]["Name"]

    assert state() == "running"
    ec2.terminate_instances(InstanceIds=[made])
    assert state() == "terminated"
    reply = ec2.terminate_instances(InstanceIds=[made])["TerminatingInstances"][0]
    assert reply["CurrentState"]["Name"] == "shutting-down"
    ec2.start_instances(InstanceIds=[made])


def test_a_role_that_is_not_in_its_profile_cannot_be_taken_out(plain_moto):
    iam = plain_moto("iam")
    iam.create_role(RoleName="r", AssumeRolePolicyDocument="{}")
    iam.create_instance_profile(InstanceProfileName="ip")
    # It dies of ValueError.
    with pytest.raises(ConnectionClosedError):
        iam.remove_role_from_instance_profile(InstanceProfileName="ip", RoleName="r")


def test_e4_a_group_in_use_can_be_deleted(ec2):
    group = ec2.create_security_group(GroupName="g", Description="d")["GroupId"]
    _run(ec2, SecurityGroupIds=[group])
    ec2.delete_security_group(GroupId=group)


def test_e6_nothing_is_checked_at_launch(ec2):
    assert _run(ec2, ImageId="ami-00000000000000000", InstanceType="g5.gigantic", KeyName="nobody")


def test_e6_only_the_smallest_number_is_launched(ec2):
    reply = ec2.run_instances(ImageId=IMAGE, InstanceType="g5.xlarge", MinCount=1, MaxCount=3)
    assert len(reply["Instances"]) == 1


def test_e7_e8_moto_has_no_data_for_china():
    from pathlib import Path

    import moto

    resources = Path(moto.__file__).parent
    for folder in ("ec2/resources/instance_type_offerings", "ssm/resources/ami-amazon-linux-latest"):
        assert list((resources / folder).rglob("us-east-1*"))
        assert not list((resources / folder).rglob("cn-*"))


def test_e12_documents_of_any_partition_are_taken(plain_moto):
    document = {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Principal": {"Service": "eks.amazonaws.com.cn"}, "Action": "sts:AssumeRole"}
        ],
    }
    assert plain_moto("iam").create_role(RoleName="r", AssumeRolePolicyDocument=json.dumps(document))


def test_e15_names_are_those_of_the_global_partition(ec2):
    assert ec2.describe_subnets()["Subnets"][0]["SubnetArn"].startswith("arn:aws:")
    assert _run(ec2)["PublicDnsName"].endswith(".amazonaws.com")


def test_e16_throughput_and_iops_are_ignored(ec2):
    disk = {"VolumeSize": 60, "VolumeType": "gp3", "Iops": 4000, "Throughput": 500}
    _run(ec2, BlockDeviceMappings=[{"DeviceName": "/dev/xvda", "Ebs": disk}])
    volume = ec2.describe_volumes()["Volumes"][0]
    assert (volume["Iops"], volume.get("Throughput")) == (3000, None)


def test_e16_a_launch_template_loses_imdsv2(ec2):
    data = {"ImageId": IMAGE, "InstanceType": "g5.xlarge", "MetadataOptions": {"HttpTokens": "required"}}
    ec2.create_launch_template(LaunchTemplateName="t", LaunchTemplateData=data)
    made = ec2.run_instances(LaunchTemplate={"LaunchTemplateName": "t"}, MinCount=1, MaxCount=1)["Instances"][0]
    assert made["MetadataOptions"]["HttpTokens"] == "optional"


def test_the_root_disk_and_the_interface_stay_behind(ec2):
    disk = {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 60}}
    made = _run(ec2, BlockDeviceMappings=[disk])["InstanceId"]
    ec2.terminate_instances(InstanceIds=[made])
    assert len(ec2.describe_volumes()["Volumes"]) == 1
    assert len(ec2.describe_network_interfaces()["NetworkInterfaces"]) == 1


def test_e17_the_console_is_canned(ec2):
    assert "Xen" in ec2.get_console_output(InstanceId=_run(ec2)["InstanceId"])["Output"]


def test_e18_a_missing_profile_has_another_code(ec2):
    with pytest.raises(ClientError) as caught:
        _run(ec2, IamInstanceProfile={"Name": "nobody"})
    assert caught.value.response["Error"]["Code"] == "NoSuchEntity"


def test_a_secure_string_is_plain_text(plain_moto):
    ssm = plain_moto("ssm")
    ssm.put_parameter(Name="/k", Value="secret", Type="SecureString")
    assert "secret" in ssm.get_parameter(Name="/k")["Parameter"]["Value"]
