"""E17: the console is the machine's own, and stays readable when the machine is gone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deployer.rehearsal.cloud import Cloud
from deployer.rehearsal.fidelity.options import Options


@pytest.fixture
def cloud(hypervisor, account) -> Iterator[Cloud]:
    hypervisor.may_boot.set()
    hypervisor.may_halt.set()
    instant = Options(pending_seconds=0.0, shutting_down_seconds=0.0)
    made = Cloud(machines=lambda _url, _guard: hypervisor, account=account, options=instant)
    yield made
    made.close()


def test_nothing_printed_means_no_output(ec2, until):
    made = ec2.run()["InstanceId"]
    until(lambda: ec2.state(made) == "running")
    assert "Output" not in ec2.client.get_console_output(InstanceId=made, Latest=True)


def test_what_the_machine_prints_is_shown_and_only_the_end_of_it(ec2, hypervisor, until):
    made = ec2.run()["InstanceId"]
    until(lambda: ec2.state(made) == "running")
    hypervisor.machines[0].text = b"x" * 100_000 + "the end – 完\n".encode()
    shown = ec2.client.get_console_output(InstanceId=made, Latest=True)["Output"]
    assert shown.endswith("the end – 完\n")
    assert len(shown.encode()) == 65_536


def test_the_console_outlives_the_machine(ec2, hypervisor, until):
    made = ec2.run()["InstanceId"]
    until(lambda: ec2.state(made) == "running")
    hypervisor.machines[0].text = b"agent failed: disk full\n"
    ec2.client.terminate_instances(InstanceIds=[made])
    until(lambda: ec2.state(made) == "terminated")
    shown = ec2.client.get_console_output(InstanceId=made)["Output"]
    assert shown == "agent failed: disk full\nreached power off\n"


def test_the_machine_gets_the_address_the_api_shows(ec2, hypervisor, until):
    ec2.client.create_key_pair(KeyName="k", KeyType="ed25519")
    made = ec2.run(KeyName="k", UserData="#!/bin/sh")
    until(lambda: hypervisor.machines)
    launch = hypervisor.machines[0].launch
    shown = ec2.show(made["InstanceId"])
    assert launch.address == shown["PrivateIpAddress"] == shown["PublicIpAddress"]
    assert launch.user_data == b"#!/bin/sh"
    assert (launch.vcpus, launch.memory_mib) == (4, 16_384)
    assert launch.metadata["instance-id"] == made["InstanceId"]
    assert launch.metadata["placement/region"] == "cn-northwest-1"
    assert launch.metadata["public-keys/0/openssh-key"].startswith("ssh-ed25519 ")
