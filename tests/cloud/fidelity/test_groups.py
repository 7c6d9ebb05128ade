"""E4: a security group in use stays."""

from __future__ import annotations


def _group(ec2, name: str) -> str:
    return ec2.client.create_security_group(GroupName=name, Description="d")["GroupId"]


def test_a_group_is_held_until_its_instance_is_terminated(ec2, refused, until):
    group = _group(ec2, "g")
    made = ec2.run(SecurityGroupIds=[group])["InstanceId"]
    assert refused(ec2.client.delete_security_group, GroupId=group) == "DependencyViolation"
    ec2.client.terminate_instances(InstanceIds=[made])
    until(lambda: ec2.state(made) == "terminated")
    ec2.client.delete_security_group(GroupId=group)
    assert refused(ec2.client.describe_security_groups, GroupIds=[group]) == "InvalidGroup.NotFound"


def test_a_free_interface_holds_its_group(ec2, refused):
    group = _group(ec2, "g")
    subnet = ec2.client.describe_subnets()["Subnets"][0]["SubnetId"]
    interface = ec2.client.create_network_interface(SubnetId=subnet, Groups=[group])["NetworkInterface"]
    assert refused(ec2.client.delete_security_group, GroupId=group) == "DependencyViolation"
    ec2.client.delete_network_interface(NetworkInterfaceId=interface["NetworkInterfaceId"])
    ec2.client.delete_security_group(GroupId=group)


def test_a_rule_of_another_group_holds_a_group(ec2, refused):
    inner, outer = _group(ec2, "inner"), _group(ec2, "outer")
    permission = {"IpProtocol": "tcp", "FromPort": 1, "ToPort": 1, "UserIdGroupPairs": [{"GroupId": inner}]}
    ec2.client.authorize_security_group_ingress(GroupId=outer, IpPermissions=[permission])
    assert refused(ec2.client.delete_security_group, GroupId=inner) == "DependencyViolation"
    ec2.client.delete_security_group(GroupId=outer)
    ec2.client.delete_security_group(GroupId=inner)


def test_the_default_group_stays(ec2, refused):
    default = ec2.client.describe_security_groups(GroupNames=["default"])["SecurityGroups"][0]["GroupId"]
    assert refused(ec2.client.delete_security_group, GroupId=default) == "CannotDelete"


def test_a_key_pair_in_use_may_go(ec2):
    ec2.client.create_key_pair(KeyName="k", KeyType="ed25519")
    made = ec2.run(KeyName="k")["InstanceId"]
    ec2.client.delete_key_pair(KeyName="k")
    assert ec2.show(made)["KeyName"] == "k"
