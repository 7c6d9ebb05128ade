"""E5, E18: what was made moments ago may not be there yet. The clock moves only when the test says so."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from deployer.rehearsal.cloud import Cloud
from deployer.rehearsal.fidelity.options import Options

LAG = 4.0


@pytest.fixture
def cloud(clock, account) -> Iterator[Cloud]:
    made = Cloud(account=account, clock=clock, options=Options(lag_seconds=LAG, profile_lag_seconds=LAG))
    yield made
    made.close()


def test_a_fresh_instance_is_missing_for_a_while(ec2, clock, refused):
    made = ec2.run(ClientToken="t")["InstanceId"]
    assert ec2.count() == 0
    assert refused(ec2.show, instance_id=made) == "InvalidInstanceID.NotFound"
    assert ec2.run(ClientToken="t")["InstanceId"] == made, "a token is never forgotten"
    clock.advance(LAG)
    assert ec2.count() == 1
    assert ec2.show(made)["InstanceId"] == made


def test_a_fresh_instance_can_be_terminated_at_once(ec2, clock, until):
    made = ec2.run()["InstanceId"]
    ec2.client.terminate_instances(InstanceIds=[made])
    clock.advance(LAG)
    until(lambda: ec2.state(made) == "terminated")


def test_a_fresh_group_is_missing_for_a_while(ec2, clock, refused):
    group = ec2.client.create_security_group(GroupName="g", Description="d")["GroupId"]
    named = [{"Name": "group-name", "Values": ["g"]}]
    assert ec2.client.describe_security_groups(Filters=named)["SecurityGroups"] == []
    assert refused(ec2.client.describe_security_groups, GroupIds=[group]) == "InvalidGroup.NotFound"
    assert refused(ec2.client.create_security_group, GroupName="g", Description="d") == "InvalidGroup.Duplicate"
    clock.advance(LAG)
    assert len(ec2.client.describe_security_groups(GroupIds=[group])["SecurityGroups"]) == 1


def test_how_late_follows_from_the_seed(cloud, ec2, clock):
    """Half of the lag to all of it, by seed and id."""
    made = ec2.run()["InstanceId"]
    clock.advance(LAG * 0.49)
    assert ec2.count() == 0
    clock.advance(LAG * 0.51)
    assert ec2.show(made)


def test_ec2_learns_of_a_profile_late(boto, ec2, clock, refused):
    iam = boto("iam")
    trust = {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com.cn"}, "Action": "sts:AssumeRole"}
    iam.create_role(RoleName="r", AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]}))
    iam.create_instance_profile(InstanceProfileName="ip")
    iam.add_role_to_instance_profile(InstanceProfileName="ip", RoleName="r")
    with pytest.raises(ec2.client.exceptions.ClientError, match="Invalid IAM Instance Profile name"):
        ec2.run(IamInstanceProfile={"Name": "ip"})
    clock.advance(LAG)
    assert ec2.run(IamInstanceProfile={"Name": "ip"})["InstanceId"]
