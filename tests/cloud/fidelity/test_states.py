"""E3: states take time, on one clock, and follow the machine. Clock and machines move only when the test says so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deployer.rehearsal.cloud import Cloud
from deployer.rehearsal.fidelity.options import Options

SECONDS = 5.0


@pytest.fixture
def cloud(clock, hypervisor, account) -> Iterator[Cloud]:
    options = Options(
        pending_seconds=SECONDS, shutting_down_seconds=SECONDS, stopping_seconds=SECONDS, terminated_visible_seconds=60
    )
    made = Cloud(machines=lambda _url, _guard: hypervisor, account=account, clock=clock, options=options)
    yield made
    made.close()


@pytest.fixture
def settled(cloud, until):
    """Waits until the background work of an instance is over."""
    return lambda instance_id: until(lambda: cloud.fleet.get(instance_id).settled)


@pytest.fixture
def running(ec2, clock, hypervisor, settled) -> str:
    hypervisor.may_boot.set()
    made = ec2.run()["InstanceId"]
    settled(made)
    clock.advance(SECONDS)
    assert ec2.state(made) == "running"
    return made


def test_pending_until_time_has_passed_and_the_machine_is_up(ec2, clock, hypervisor, settled):
    reply = ec2.run()
    made = reply["InstanceId"]
    assert reply["State"] == {"Code": 0, "Name": "pending"}
    clock.advance(SECONDS)
    assert ec2.state(made) == "pending", "the machine is not up yet"
    hypervisor.may_boot.set()
    settled(made)
    assert ec2.show(made)["State"] == {"Code": 16, "Name": "running"}


def test_a_machine_that_is_up_early_waits_for_the_clock(ec2, clock, hypervisor, settled):
    hypervisor.may_boot.set()
    made = ec2.run()["InstanceId"]
    settled(made)
    clock.advance(SECONDS - 0.1)
    assert ec2.state(made) == "pending"
    clock.advance(0.1)
    assert ec2.state(made) == "running"


def test_a_machine_that_does_not_boot_ends_terminated_with_a_reason(ec2, clock, hypervisor, settled):
    hypervisor.broken = True
    hypervisor.may_boot.set()
    made = ec2.run()["InstanceId"]
    settled(made)
    clock.advance(SECONDS)
    shown = ec2.show(made)
    assert shown["State"]["Name"] == "terminated"
    assert shown["StateReason"]["Code"] == "Server.InternalError"
    assert "no room on this host" in ec2.client.get_console_output(InstanceId=made)["Output"]


def test_terminate_takes_time_and_keeps_disk_and_interface_until_its_end(ec2, clock, hypervisor, running, settled):
    reply = ec2.client.terminate_instances(InstanceIds=[running])["TerminatingInstances"][0]
    assert (reply["PreviousState"]["Name"], reply["CurrentState"]["Name"]) == ("running", "shutting-down")
    clock.advance(SECONDS)
    assert ec2.state(running) == "shutting-down", "the machine still halts"
    assert len(ec2.client.describe_volumes()["Volumes"]) == 1
    assert len(ec2.client.describe_network_interfaces()["NetworkInterfaces"]) == 1
    hypervisor.may_halt.set()
    settled(running)
    shown = ec2.show(running)
    assert shown["State"] == {"Code": 48, "Name": "terminated"}
    assert shown["StateReason"]["Code"] == "Client.UserInitiatedShutdown"
    assert ec2.client.describe_volumes()["Volumes"] == []
    assert ec2.client.describe_network_interfaces()["NetworkInterfaces"] == []
    assert hypervisor.machines[0].state == "halted"


def test_terminate_while_pending_halts_what_was_booting(ec2, clock, hypervisor, settled):
    made = ec2.run()["InstanceId"]
    ec2.client.terminate_instances(InstanceIds=[made])
    hypervisor.may_boot.set()
    hypervisor.may_halt.set()
    settled(made)
    clock.advance(SECONDS)
    assert ec2.state(made) == "terminated"
    assert [m.state for m in hypervisor.machines] == ["halted"]


def test_terminating_twice_says_what_it_is(ec2, clock, hypervisor, running, settled):
    hypervisor.may_halt.set()
    ec2.client.terminate_instances(InstanceIds=[running])
    settled(running)
    clock.advance(SECONDS)
    assert ec2.state(running) == "terminated"
    reply = ec2.client.terminate_instances(InstanceIds=[running])["TerminatingInstances"][0]
    assert (reply["PreviousState"]["Name"], reply["CurrentState"]["Name"]) == ("terminated", "terminated")


def test_a_terminated_instance_is_forgotten_after_a_while(ec2, clock, hypervisor, running, settled, refused):
    hypervisor.may_halt.set()
    ec2.client.terminate_instances(InstanceIds=[running])
    settled(running)
    clock.advance(SECONDS)
    assert ec2.state(running) == "terminated"
    clock.advance(60)
    assert refused(ec2.client.describe_instances, InstanceIds=[running]) == "InvalidInstanceID.NotFound"


def test_stop_and_start_again(ec2, clock, hypervisor, running, settled):
    hypervisor.may_halt.set()
    ec2.client.stop_instances(InstanceIds=[running])
    assert ec2.state(running) == "stopping"
    settled(running)
    clock.advance(SECONDS)
    assert ec2.state(running) == "stopped"
    ec2.client.start_instances(InstanceIds=[running])
    assert ec2.state(running) == "pending"
    settled(running)
    clock.advance(SECONDS)
    assert ec2.state(running) == "running"
    assert [m.launch.instance_id for m in hypervisor.machines] == [running, running]


def test_reboot_reaches_the_machine(ec2, hypervisor, running, settled):
    ec2.client.reboot_instances(InstanceIds=[running])
    settled(running)
    assert hypervisor.machines[0].reboots == 1
    assert ec2.state(running) == "running"


@pytest.mark.parametrize(("behaviour", "end"), [("terminate", "terminated"), ("stop", "stopped")])
def test_a_machine_that_powers_itself_off(ec2, clock, hypervisor, settled, behaviour, end):
    hypervisor.may_boot.set()
    hypervisor.may_halt.set()
    made = ec2.run(InstanceInitiatedShutdownBehavior=behaviour)["InstanceId"]
    settled(made)
    clock.advance(SECONDS)
    assert ec2.state(made) == "running"
    hypervisor.machines[0].halt()
    assert ec2.state(made) in ("shutting-down", "stopping")
    settled(made)
    clock.advance(SECONDS)
    shown = ec2.show(made)
    assert shown["State"]["Name"] == end
    assert shown["StateReason"]["Code"] == "Client.InstanceInitiatedShutdown"


def test_closing_the_cloud_closes_the_hypervisor(cloud, hypervisor):
    cloud.close()
    assert hypervisor.closed


def test_the_spot_market_gives_notice_and_then_ends_its_instance(cloud, ec2, clock, hypervisor, settled):
    hypervisor.may_boot.set()
    hypervisor.may_halt.set()
    tags = [{"ResourceType": "instance", "Tags": [{"Key": "k", "Value": "v"}]}]
    other = ec2.run(TagSpecifications=tags)["InstanceId"]
    made = ec2.run(TagSpecifications=tags, InstanceMarketOptions={"MarketType": "spot"})["InstanceId"]
    for one in (made, other):
        settled(one)
    clock.advance(SECONDS)
    assert (ec2.state(made), ec2.state(other)) == ("running", "running")

    def request() -> tuple[str, str]:
        filters = [{"Name": "instance-id", "Values": [made]}]
        [one] = ec2.client.describe_spot_instance_requests(Filters=filters)["SpotInstanceRequests"]
        assert one["InstanceId"] == made
        return one["State"], one["Status"]["Code"]

    assert request() == ("active", "fulfilled")
    assert cloud.fleet.reclaim("k", "w", 120) == []
    assert cloud.fleet.reclaim("k", "v", 120) == [made]
    document = cloud.fleet.get(made).launch.metadata["spot/instance-action"]
    assert document == '{"action": "terminate", "time": "1970-01-12T13:48:45Z"}'
    assert request() == ("active", "marked-for-termination")
    clock.advance(119)
    assert ec2.state(made) == "running"
    clock.advance(1)
    assert ec2.state(made) == "shutting-down"
    settled(made)
    clock.advance(SECONDS)
    shown = ec2.show(made)
    assert (shown["State"]["Name"], shown["StateReason"]["Code"]) == ("terminated", "Server.SpotInstanceTermination")
    assert request() == ("closed", "instance-terminated-no-capacity")
    assert ec2.state(other) == "running"
