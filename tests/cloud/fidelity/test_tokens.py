"""E1: a client token launches once."""

from __future__ import annotations


def test_same_token_and_parameters_give_the_same_instance(ec2):
    first = ec2.run(ClientToken="token", UserData="x")
    second = ec2.run(ClientToken="token", UserData="x")
    assert second["InstanceId"] == first["InstanceId"]
    assert second["ClientToken"] == "token"
    assert ec2.count() == 1


def test_a_repeat_gives_every_instance_of_the_reservation(ec2):
    first = ec2.reservation(ClientToken="two", MinCount=2, MaxCount=2)
    second = ec2.reservation(ClientToken="two", MinCount=2, MaxCount=2)
    ids = {i["InstanceId"] for i in first["Instances"]}
    assert len(ids) == 2
    assert {i["InstanceId"] for i in second["Instances"]} == ids
    assert second["ReservationId"] == first["ReservationId"]


def test_a_repeat_after_the_end_gives_the_terminated_instance(ec2, until):
    made = ec2.run(ClientToken="token")["InstanceId"]
    ec2.client.terminate_instances(InstanceIds=[made])
    until(lambda: ec2.state(made) == "terminated")
    again = ec2.run(ClientToken="token")
    assert (again["InstanceId"], again["State"]["Name"]) == (made, "terminated")


def test_same_token_with_other_parameters_is_refused(ec2, refused):
    ec2.run(ClientToken="token")
    assert refused(ec2.run, ClientToken="token", InstanceType="g5.2xlarge") == "IdempotentParameterMismatch"
    assert ec2.count() == 1


def test_a_refused_launch_does_not_use_up_its_token(ec2, refused):
    assert refused(ec2.run, ClientToken="token", KeyName="missing") == "InvalidKeyPair.NotFound"
    ec2.client.create_key_pair(KeyName="missing", KeyType="ed25519")
    assert ec2.run(ClientToken="token", KeyName="missing")["InstanceId"]


def test_instances_are_found_by_token(ec2):
    made = ec2.run(ClientToken="mine")["InstanceId"]
    ec2.run(ClientToken="other")
    found = ec2.client.describe_instances(Filters=[{"Name": "client-token", "Values": ["mine"]}])["Reservations"]
    assert [i["InstanceId"] for r in found for i in r["Instances"]] == [made]
