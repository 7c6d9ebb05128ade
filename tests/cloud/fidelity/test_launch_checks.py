"""E6, E7: RunInstances refuses what does not fit, names the bad field and launches nothing."""

from __future__ import annotations

import pytest


def _subnet(ec2, zone: str) -> str:
    found = ec2.client.describe_subnets(Filters=[{"Name": "availability-zone", "Values": [zone]}])["Subnets"]
    return found[0]["SubnetId"]


@pytest.mark.parametrize(
    ("request_", "code", "word"),
    [
        ({"ImageId": "ami-00000000000000000"}, "InvalidAMIID.NotFound", "ami-00000000000000000"),
        ({"ImageId": "img-1"}, "InvalidAMIID.Malformed", "img-1"),
        ({"InstanceType": "g5.gigantic"}, "InvalidParameterValue", "g5.gigantic"),
        ({"InstanceType": "c8g.4xlarge"}, "InvalidParameterValue", "arm64"),
        ({"KeyName": "nobody"}, "InvalidKeyPair.NotFound", "nobody"),
        ({"SecurityGroupIds": ["sg-00000000000000000"]}, "InvalidGroup.NotFound", "sg-00000000000000000"),
        ({"SubnetId": "subnet-00000000000000000"}, "InvalidSubnetID.NotFound", "subnet-00000000000000000"),
        ({"Placement": {"AvailabilityZone": "cn-northwest-1b"}}, "Unsupported", "cn-northwest-1a"),
        (
            {"BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 4}}]},
            "InvalidBlockDeviceMapping",
            "8GB",
        ),
    ],
)
def test_refusals(ec2, request_, code, word):
    with pytest.raises(ec2.client.exceptions.ClientError) as caught:
        ec2.run(**request_)
    error = caught.value.response["Error"]
    assert error["Code"] == code
    assert word in error["Message"]
    assert ec2.count() == 0


def test_a_type_is_refused_in_a_subnet_of_a_zone_without_it(ec2, refused):
    assert refused(ec2.run, SubnetId=_subnet(ec2, "cn-northwest-1b")) == "Unsupported"
    assert ec2.run(SubnetId=_subnet(ec2, "cn-northwest-1c"))["Placement"]["AvailabilityZone"] == "cn-northwest-1c"


def test_with_no_zone_named_the_launch_lands_where_the_type_is(ec2):
    assert ec2.run(InstanceType="g6e.xlarge")["Placement"]["AvailabilityZone"] == "cn-northwest-1b"


def test_a_group_of_another_network_is_refused(ec2, refused):
    vpc = ec2.client.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    group = ec2.client.create_security_group(GroupName="g", Description="d", VpcId=vpc)["GroupId"]
    subnet = _subnet(ec2, "cn-northwest-1a")
    assert refused(ec2.run, SubnetId=subnet, SecurityGroupIds=[group]) == "InvalidParameter"


def test_offerings_differ_between_zones(ec2):
    def zones(name: str) -> list[str]:
        found = ec2.client.describe_instance_type_offerings(
            LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": [name]}]
        )["InstanceTypeOfferings"]
        return sorted(offer["Location"] for offer in found)

    assert zones("g5.xlarge") == ["cn-northwest-1a", "cn-northwest-1c"]
    assert zones("g6e.xlarge") == ["cn-northwest-1b"]
    assert len(zones("c8g.4xlarge")) == 3
    assert zones("p4d.24xlarge") == []


def test_a_dry_run_launches_nothing(ec2, refused):
    assert refused(ec2.run, DryRun=True, ClientToken="t") == "DryRunOperation"
    assert ec2.count() == 0


def test_as_many_as_possible_are_launched(ec2):
    assert len(ec2.reservation(MinCount=1, MaxCount=3)["Instances"]) == 3


def test_arm_image_on_an_arm_type(ec2):
    assert ec2.run(ImageId=ec2.arm_image, InstanceType="c8g.4xlarge")["Architecture"] == "arm64"
