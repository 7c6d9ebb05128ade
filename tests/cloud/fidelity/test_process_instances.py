"""Instances with process machines behind them: what a stop keeps, and that their ways out are watched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from deployer.rehearsal.cloud import Cloud
from deployer.rehearsal.hypervisors import choose
from deployer.rehearsal.machines.process import machines_folder
from tests.cloud.conftest import INSTANT

#: Tries to get out, then tells of the boot on the disk.
PROGRAM = """
import os, signal, urllib.error, urllib.request
for url in ("http://out.invalid/plain", "https://out.invalid/secret", os.environ["AWS_ENDPOINT_URL"] + "/x"):
    try:
        urllib.request.urlopen(url, timeout=5)
    except OSError:
        pass
with open(os.environ["DEPLOYER_AGENT_ROOT"] + "/var/lib/boots", "a") as boots:
    boots.write("x")
signal.pause()
"""
UNIT = """[Service]
Environment=PYTHONPATH=/opt/box
ExecStart=/usr/bin/python3 -m box
[Install]
WantedBy=multi-user.target
"""
FILES = {"/opt/box/box.py": PROGRAM, "/etc/systemd/system/box.service": UNIT}
USER_DATA = "#cloud-config\n" + json.dumps(
    {
        "write_files": [{"path": path, "content": content} for path, content in FILES.items()],
        "runcmd": [["systemctl", "enable", "--now", "box"]],
    }
)


@pytest.fixture
def cloud(account: str, tmp_path: Path) -> Iterator[Cloud]:
    made = Cloud(
        account=account,
        options=INSTANT,
        machines=lambda url, guard: choose(
            "process", state_dir=tmp_path, cloud_url=url, guard_url=guard, ssh_port=None
        ),
    )
    yield made
    made.close()


def test_a_stop_keeps_the_disk_and_a_termination_does_not(ec2, tmp_path, until):
    made = ec2.run(UserData=USER_DATA)["InstanceId"]
    boots = machines_folder(tmp_path) / made / "root/var/lib/boots"

    def reach(state: str) -> None:
        until(lambda: ec2.state(made) == state)

    until(boots.exists)
    reach("running")
    ec2.client.stop_instances(InstanceIds=[made])
    reach("stopped")
    assert boots.read_text() == "x"
    ec2.client.start_instances(InstanceIds=[made])
    until(lambda: boots.read_text() == "xx")
    reach("running")
    ec2.client.stop_instances(InstanceIds=[made])
    reach("stopped")
    ec2.client.terminate_instances(InstanceIds=[made])
    reach("terminated")
    assert not (machines_folder(tmp_path) / made).exists()


def test_what_a_machine_sends_out_is_refused_and_recorded(cloud, ec2, tmp_path, until):
    made = ec2.run(UserData=USER_DATA)["InstanceId"]
    until((machines_folder(tmp_path) / made / "root/var/lib/boots").exists)
    proxied = [escape["what"] for escape in cloud.escapes.listing() if escape["kind"] == "proxy"]
    assert proxied == ["GET http://out.invalid/plain", "CONNECT out.invalid:443"]
