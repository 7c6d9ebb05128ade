"""One machine: what boots in it, what it sees, and how it ends."""

from __future__ import annotations

import json

import paramiko
import pytest

from deployer.rehearsal.machines.base import IngressRule
from deployer.rehearsal.machines.booted.hypervisor import BootedHypervisor
from tests.box.boxes import BOOT_SECONDS, SSH_FROM_ALL, Box
from tests.support.waiting import until

pytestmark = pytest.mark.box

_TOKEN = "curl -s -X PUT http://169.254.169.254/latest/api/token -H 'X-aws-ec2-metadata-token-ttl-seconds: 60'"
_GET = f"curl -s -w ' %{{http_code}}' -H \"X-aws-ec2-metadata-token: $({_TOKEN})\" http://169.254.169.254/latest"


def test_systemd_cloud_init_and_sshd_are_real(box: Box) -> None:
    assert box.run("cat /proc/1/comm") == (0, "systemd")
    assert box.run("systemctl is-system-running --wait") == (0, "running")
    assert box.run("sudo cloud-init query --format '{{v1.cloud_name}} {{v1.instance_id}}'") == (
        0,
        f"aws {box.launch.instance_id}",
    )
    assert box.run("sudo cat /etc/box; sudo stat -c %a /etc/box")[1].startswith("box ")
    assert box.run("hostname") == (0, box.launch.metadata["local-hostname"].partition(".")[0])
    assert box.run("/usr/bin/python3 -c 'import sys; print(sys.version_info >= (3, 9))'") == (0, "True")
    assert "ssh-ed25519 AAAA" in box.console


def test_another_host_key_than_the_consoles_is_refused(box: Box) -> None:
    client = paramiko.SSHClient()
    client.get_host_keys().add(box.launch.address, "ssh-rsa", paramiko.RSAKey.generate(2048))
    client.set_missing_host_key_policy(paramiko.RejectPolicy())
    with client, pytest.raises(paramiko.SSHException):
        client.connect(box.launch.address, username="ec2-user", pkey=box.key, look_for_keys=False, allow_agent=False)


def test_metadata_only_with_a_token_and_only_its_own(box: Box) -> None:
    assert box.run("curl -s -w '%{http_code}' http://169.254.169.254/latest/meta-data/instance-id") == (0, "401")
    assert box.run(f"{_GET}/meta-data/instance-id") == (0, f"{box.launch.instance_id} 200")
    role = json.loads(box.launch.metadata["iam/security-credentials/role"])["AccessKeyId"]
    assert role in box.run(f"{_GET}/meta-data/iam/security-credentials/role")[1]


def test_there_is_no_way_out_and_it_is_told_soon(box: Box) -> None:
    status, said = box.run("timeout 5 curl -sS http://8.8.8.8/")
    assert status == 7, said
    status, said = box.run("timeout 5 curl -sS http://example.com/")
    assert status == 6, said
    status, said = box.run(f"timeout 2 curl -sS http://{box.hypervisor.slot.client}:22/")
    assert status == 124, "the host's own services are out of reach"


def test_the_host_is_out_of_reach_of_its_root(box: Box) -> None:
    assert box.run("sudo sh -c 'echo 1 > /proc/sys/kernel/sysrq'")[0] != 0
    assert box.run("sudo sh -c 'echo mem > /sys/power/state'")[0] != 0
    assert box.run("sudo touch /opt/rehearsal/deployer/x")[0] != 0
    assert "ssh" not in box.run("sudo nft list ruleset 2>&1; true")[1]


def test_too_much_memory_kills_the_process_not_the_machine(box: Box) -> None:
    status, _ = box.run("/usr/bin/python3 -c 'x = bytearray(2 * 2**30)'")
    assert status == 137
    assert box.run("true") == (0, "")


def test_the_firewall_drops_and_follows(hypervisor: BootedHypervisor, box: Box, key: paramiko.PKey) -> None:
    other = Box.boot(hypervisor, key, rules=[])
    other.wait_up()
    name = other.launch.instance_id
    assert not other.reaches(), "a closed port answers nothing, it does not refuse"
    from_box = f"timeout 2 bash -c 'echo > /dev/tcp/{other.launch.address}/22'"
    assert box.run(from_box)[0] == 124

    hypervisor.apply_firewall(name, [IngressRule("tcp", (20, 30), f"{box.launch.address}/32")])
    assert box.run(from_box)[0] == 0
    assert not other.reaches()

    hypervisor.apply_firewall(name, [SSH_FROM_ALL])
    assert other.reaches()
    with other.login() as client:
        hypervisor.apply_firewall(name, [])
        assert not other.reaches()
        _, out, _ = client.exec_command("echo still here", timeout=10)
        assert out.read() == b"still here\n", "what is connected stays so, as on EC2"

    other.machine.halt()
    assert other.machine.state == "halted"
    assert box.run("true") == (0, ""), "one machine's end is nothing to another"


def test_reboot_from_outside_and_inside_then_power_off(hypervisor: BootedHypervisor, key: paramiko.PKey) -> None:
    box = Box.boot(hypervisor, key, runcmd=[["sh", "-c", "echo once >> /var/lib/boots"]])
    box.wait_up()
    first = box.run("cat /proc/sys/kernel/random/boot_id")[1]
    box.machine.reboot()
    box.wait_up(boots=2)
    second = box.run("cat /proc/sys/kernel/random/boot_id")[1]
    assert second != first
    assert box.run("cat /var/lib/boots") == (0, "once"), "the disk stays, and user-data is applied once"

    with box.login() as client:
        client.exec_command("sudo systemctl reboot", timeout=10)
        box.wait_up(boots=3)
    assert box.run("cat /proc/sys/kernel/random/boot_id")[1] != second

    with box.login() as client:
        client.exec_command("sudo systemctl poweroff", timeout=10)
        until(lambda: box.machine.state == "halted", "it is off", seconds=BOOT_SECONDS)
    assert "finished at" in box.console, "the console can still be read"
    box.machine.halt()


def test_halt_while_it_boots(hypervisor: BootedHypervisor, key: paramiko.PKey) -> None:
    for _ in range(3):
        box = Box.boot(hypervisor, key)
        box.machine.halt()
        assert box.machine.state == "halted"
