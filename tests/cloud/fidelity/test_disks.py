"""E15, E16, E11: what moto drops of a launch is kept, and names are those of the region."""

from __future__ import annotations

import json

import pytest

GP3 = {"VolumeSize": 60, "VolumeType": "gp3", "Iops": 4000, "Throughput": 500, "Encrypted": True}


def test_a_gp3_root_disk_is_as_asked(ec2):
    ec2.run(BlockDeviceMappings=[{"DeviceName": "/dev/xvda", "Ebs": GP3}])
    volume = ec2.client.describe_volumes()["Volumes"][0]
    assert {k: volume[k] for k in ("Size", "VolumeType", "Iops", "Throughput", "Encrypted")} == {
        "Size": 60,
        "VolumeType": "gp3",
        "Iops": 4000,
        "Throughput": 500,
        "Encrypted": True,
    }


@pytest.mark.parametrize(("asked", "left"), [({}, 0), ({"DeleteOnTermination": False}, 1)])
def test_the_root_disk_goes_with_the_instance_unless_told_otherwise(ec2, until, asked, left):
    made = ec2.run(BlockDeviceMappings=[{"DeviceName": "/dev/xvda", "Ebs": GP3 | asked}])["InstanceId"]
    ec2.client.terminate_instances(InstanceIds=[made])
    until(lambda: ec2.state(made) == "terminated")
    assert len(ec2.client.describe_volumes()["Volumes"]) == left


def test_tags_reach_instance_volume_and_interface(ec2):
    kinds = ("instance", "volume", "network-interface")
    tags = [{"ResourceType": kind, "Tags": [{"Key": "kind", "Value": kind}]} for kind in kinds]
    ec2.run(TagSpecifications=tags)
    for kind in kinds:
        wanted = [{"Name": "tag:kind", "Values": [kind]}]
        assert len(ec2.client.describe_tags(Filters=[{"Name": "resource-type", "Values": [kind]}])["Tags"]) == 1
        found = {
            "instance": lambda f: ec2.client.describe_instances(Filters=f)["Reservations"],
            "volume": lambda f: ec2.client.describe_volumes(Filters=f)["Volumes"],
            "network-interface": lambda f: ec2.client.describe_network_interfaces(Filters=f)["NetworkInterfaces"],
        }[kind](wanted)
        assert len(found) == 1, kind


def test_a_launch_template_keeps_imdsv2(ec2):
    data = {
        "ImageId": ec2.image,
        "InstanceType": "g5.xlarge",
        "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 2},
    }
    ec2.client.create_launch_template(LaunchTemplateName="t", LaunchTemplateData=data)
    reply = ec2.client.run_instances(LaunchTemplate={"LaunchTemplateName": "t"}, MinCount=1, MaxCount=1)
    options = ec2.show(reply["Instances"][0]["InstanceId"])["MetadataOptions"]
    assert (options["HttpTokens"], options["HttpPutResponseHopLimit"]) == ("required", 2)


def test_a_spot_instance_says_so(ec2):
    made = ec2.run(InstanceMarketOptions={"MarketType": "spot"})["InstanceId"]
    assert ec2.show(made)["InstanceLifecycle"] == "spot"


def test_names_are_those_of_the_region(ec2):
    made = ec2.run()["InstanceId"]
    replies = [
        ec2.show(made),
        ec2.client.describe_subnets()["Subnets"],
        ec2.client.describe_security_groups()["SecurityGroups"],
        ec2.client.describe_volumes()["Volumes"],
    ]
    text = json.dumps(replies, default=str)
    assert "arn:aws-cn:" in text
    assert "arn:aws:" not in text
    assert ".amazonaws.com.cn" in text
    assert text.count(".amazonaws.com") == text.count(".amazonaws.com.cn")


def test_a_tag_that_looks_like_a_name_comes_back_unchanged(ec2):
    value = "arn:aws:s3:::bucket at x.amazonaws.com"
    made = ec2.run(TagSpecifications=[{"ResourceType": "instance", "Tags": [{"Key": "Arn", "Value": value}]}])
    assert {"Key": "Arn", "Value": value} in ec2.show(made["InstanceId"])["Tags"]
