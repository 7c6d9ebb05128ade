"""E3: what a state does not allow is refused."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("operation", ["start_instances", "stop_instances", "reboot_instances"])
def test_a_terminated_instance_only_rests(ec2, refused, until, operation):
    made = ec2.run()["InstanceId"]
    ec2.client.terminate_instances(InstanceIds=[made])
    until(lambda: ec2.state(made) == "terminated")
    assert refused(getattr(ec2.client, operation), InstanceIds=[made]) == "IncorrectInstanceState"


def test_protection_against_termination_holds(ec2, refused):
    made = ec2.run()["InstanceId"]
    ec2.client.modify_instance_attribute(InstanceId=made, DisableApiTermination={"Value": True})
    assert refused(ec2.client.terminate_instances, InstanceIds=[made]) == "OperationNotPermitted"


def test_an_unknown_instance_is_named(ec2, refused):
    assert refused(ec2.client.terminate_instances, InstanceIds=["i-0123456789abcdef0"]) == "InvalidInstanceID.NotFound"
