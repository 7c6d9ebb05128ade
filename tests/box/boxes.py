"""A booted machine as its tests use it."""

from __future__ import annotations

import base64
import contextlib
import gzip
import itertools
import json
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import paramiko

from deployer.access.host_keys import from_console
from deployer.rehearsal.machines.base import IngressRule, MachineLaunch
from deployer.rehearsal.machines.booted.hypervisor import BootedHypervisor
from deployer.rehearsal.machines.booted.machine import BootedMachine
from tests.support.waiting import until

_NUMBERS = itertools.count(1)
#: A machine that is slow to boot because the tests' host is busy is no failure.
BOOT_SECONDS = 60.0


@dataclass
class Box:
    """key: what its user is to be let in with."""

    hypervisor: BootedHypervisor
    machine: BootedMachine
    launch: MachineLaunch
    key: paramiko.PKey

    @staticmethod
    def boot(
        hypervisor: BootedHypervisor,
        key: paramiko.PKey,
        *,
        runcmd: Sequence[object] = (),
        rules: Sequence[IngressRule] | None = None,
        memory_mib: int = 1024,
    ) -> Box:
        """Power a new machine on. rules: what reaches it; ssh from everywhere when None."""
        number = next(_NUMBERS)
        address = hypervisor.allocate_address()
        document = {
            "write_files": [{"path": "/etc/box", "content": f"box {number}\n", "permissions": "0600"}],
            "runcmd": list(runcmd),
        }
        name = f"i-{number:017x}"
        metadata = {
            "instance-id": name,
            "local-hostname": f"box-{number}.internal",
            "local-ipv4": address,
            "public-keys/0/openssh-key": f"{key.get_name()} {key.get_base64()} test",
            "placement/region": "cn-northwest-1",
            "placement/availability-zone": "cn-northwest-1a",
            "iam/security-credentials/role": json.dumps({"Code": "Success", "AccessKeyId": f"ASIA{number}"}),
        }
        data = gzip.compress(b"#cloud-config\n" + json.dumps(document).encode())
        launch = MachineLaunch(name, address, data, metadata, vcpus=2, memory_mib=memory_mib)
        hypervisor.apply_firewall(name, [SSH_FROM_ALL] if rules is None else rules)
        return Box(hypervisor, hypervisor.boot(launch), launch, key)

    @property
    def console(self) -> str:
        return self.machine.console().decode(errors="replace")

    def wait_up(self, boots: int = 1) -> None:
        """Until cloud-init has finished that many times."""
        until(lambda: self.console.count(" finished at ") >= boots, "cloud-init finishes", seconds=BOOT_SECONDS)

    def reaches(self, port: int = 22) -> bool:
        """Whether a connection from here is answered within a second."""
        with contextlib.suppress(TimeoutError), socket.create_connection((self.launch.address, port), 1.0):
            return True
        return False

    @contextlib.contextmanager
    def login(self) -> Iterator[paramiko.SSHClient]:
        """As ec2-user, with the host key that its console told."""
        client = paramiko.SSHClient()
        for line in from_console(self.console):
            kind, blob = line.split()
            found = paramiko.PKey.from_type_string(kind, base64.b64decode(blob))
            client.get_host_keys().add(self.launch.address, kind, found)
        client.set_missing_host_key_policy(paramiko.RejectPolicy())
        client.connect(
            self.launch.address, username="ec2-user", pkey=self.key, look_for_keys=False, allow_agent=False, timeout=10
        )
        with client:
            yield client

    def run(self, command: str) -> tuple[int, str]:
        """A command over ssh: exit status, output and errors together."""
        with self.login() as client:
            _, out, _ = client.exec_command(f"{{ {command}\n}} 2>&1", timeout=30)
            text = out.read().decode()
            return out.channel.recv_exit_status(), text.strip()


SSH_FROM_ALL = IngressRule("tcp", (22, 22), "0.0.0.0/0")
