"""Security groups reach the machines that have a firewall, at launch and after each change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from deployer.rehearsal.hypervisors import NoMachines
from deployer.rehearsal.machines.base import IngressRule

SSH = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22}


class Recorder(NoMachines):
    """Machines that are only names, with a firewall that remembers."""

    def __init__(self) -> None:
        super().__init__()
        self.rules: dict[str, tuple[IngressRule, ...]] = {}

    def apply_firewall(self, instance_id: str, rules: Sequence[IngressRule]) -> None:
        self.rules[instance_id] = tuple(rules)

    def client_env(self, env: Mapping[str, str]) -> dict[str, str]:
        return {}


@pytest.fixture
def firewalls(cloud) -> Recorder:
    made = Recorder()
    cloud.world.hypervisor = made
    return made


@pytest.fixture
def group(ec2) -> str:
    return ec2.client.create_security_group(GroupName="g", Description="d")["GroupId"]


def _permission(cidr: str, **changes: object) -> list[dict]:
    return [{**SSH, **changes, "IpRanges": [{"CidrIp": cidr}]}]


def test_nothing_is_let_in_by_a_group_without_rules(ec2, firewalls, group):
    instance = ec2.run(SecurityGroupIds=[group])["InstanceId"]
    assert firewalls.rules == {instance: ()}


def test_rules_of_before_and_after_the_launch(ec2, firewalls, group):
    ec2.client.authorize_security_group_ingress(GroupId=group, IpPermissions=_permission("192.0.2.0/24"))
    instance = ec2.run(SecurityGroupIds=[group])["InstanceId"]
    ssh = IngressRule("tcp", (22, 22), "192.0.2.0/24")
    assert firewalls.rules[instance] == (ssh,)

    everything = [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "198.51.100.7/32"}]}]
    ec2.client.authorize_security_group_ingress(GroupId=group, IpPermissions=everything)
    assert set(firewalls.rules[instance]) == {ssh, IngressRule("-1", None, "198.51.100.7/32")}

    ec2.client.revoke_security_group_ingress(GroupId=group, IpPermissions=_permission("192.0.2.0/24"))
    assert firewalls.rules[instance] == (IngressRule("-1", None, "198.51.100.7/32"),)


def test_a_group_as_source_means_the_addresses_in_it(ec2, firewalls, group):
    first = ec2.run(SecurityGroupIds=[group])
    ec2.client.authorize_security_group_ingress(
        GroupId=group, IpPermissions=[{**SSH, "UserIdGroupPairs": [{"GroupId": group}]}]
    )
    second = ec2.run(SecurityGroupIds=[group])
    sources = {f"{instance['PrivateIpAddress']}/32" for instance in (first, second)}
    for instance in (first, second):
        assert {rule.source for rule in firewalls.rules[instance["InstanceId"]]} == sources


def test_another_group_of_an_instance(ec2, firewalls, group):
    instance = ec2.run(SecurityGroupIds=[group])["InstanceId"]
    other = ec2.client.create_security_group(GroupName="other", Description="d")["GroupId"]
    ec2.client.authorize_security_group_ingress(GroupId=other, IpPermissions=_permission("192.0.2.0/24"))
    assert firewalls.rules[instance] == ()
    ec2.client.modify_instance_attribute(InstanceId=instance, Groups=[other])
    assert firewalls.rules[instance] == (IngressRule("tcp", (22, 22), "192.0.2.0/24"),)


def test_ipv6_is_not_enforced(ec2, firewalls, group):
    instance = ec2.run(SecurityGroupIds=[group])["InstanceId"]
    ec2.client.authorize_security_group_ingress(
        GroupId=group, IpPermissions=[{**SSH, "Ipv6Ranges": [{"CidrIpv6": "2001:db8::/32"}]}]
    )
    assert firewalls.rules[instance] == ()
