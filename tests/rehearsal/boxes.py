"""User-data and units for process machines in tests."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence

from deployer.rehearsal.machines.base import MachineLaunch
from deployer.rehearsal.machines.process import ProcessHypervisor
from deployer.rehearsal.machines.process_machine import ProcessMachine

#: Says what it is given, then waits for the end.
PROGRAM = """
import json, os, sys, signal, threading
root = os.environ["DEPLOYER_AGENT_ROOT"]
def say(text):
    with open(root + "/dev/console", "a") as console:
        console.write("box: " + text + "\\n")
try:
    import deployer
    found = "found"
except ImportError:
    found = "not found"
say(json.dumps({"argv": sys.argv[1:], "deployer": found, "env": dict(os.environ), "cwd": os.getcwd()}))
done = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: done.set())
done.wait(60)
say("bye")
"""

UNIT = """[Unit]
Description=box
[Service]
ExecStart=/usr/bin/python3 -m box {arguments}
Environment=PYTHONPATH=/opt/box
{more}
[Install]
WantedBy=multi-user.target
"""


def user_data(
    program: str = PROGRAM,
    *,
    arguments: str = "",
    more: str = "",
    files: dict[str, str] | None = None,
    runcmd: Sequence[object] = (["systemctl", "daemon-reload"], ["systemctl", "enable", "--now", "box"]),
) -> bytes:
    """A gzip cloud-config that installs `program` as module `box` and a unit that runs it."""
    contents = {
        "/opt/box/box.py": program,
        "/etc/systemd/system/box.service": UNIT.format(arguments=arguments, more=more),
        **(files or {}),
    }
    document = {
        "write_files": [{"path": path, "content": content} for path, content in contents.items()],
        "runcmd": list(runcmd),
    }
    # JSON is YAML.
    return gzip.compress(b"#cloud-config\n" + json.dumps(document).encode())


def boot(hypervisor: ProcessHypervisor, data: bytes, number: int = 1, **metadata: str) -> ProcessMachine:
    """A machine on a new address."""
    found = {"instance-id": f"i-{number}", "local-hostname": "ip-box", **metadata}
    address = hypervisor.allocate_address()
    found["local-ipv4"] = address
    return hypervisor.boot(MachineLaunch(f"i-{number}", address, data, found, vcpus=2, memory_mib=2048))


def said(machine: ProcessMachine) -> list[str]:
    """What PROGRAM said on the console so far."""
    lines = machine.console().decode().splitlines()
    return [line.removeprefix("box: ") for line in lines if line.startswith("box: ")]
