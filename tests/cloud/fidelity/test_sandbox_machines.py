"""Machines never outlive their sandbox, however it ends."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

import boto3
import pytest
from botocore.config import Config

from deployer.rehearsal import sandbox
from deployer.rehearsal.fidelity.images import IMAGES
from deployer.rehearsal.machines import processes
from deployer.rehearsal.machines.process import machines_folder
from deployer.rehearsal.processes import ProcessId

UNIT = "[Service]\nExecStart=/bin/sleep 600\n[Install]\nWantedBy=multi-user.target\n"
USER_DATA = "#cloud-config\n" + json.dumps(
    {
        "write_files": [{"path": "/etc/systemd/system/nap.service", "content": UNIT}],
        "runcmd": [["systemctl", "enable", "--now", "nap.service"]],
    }
)


def _launch(info: sandbox.SandboxInfo) -> None:
    ec2: Any = boto3.Session(
        aws_access_key_id=info.env["AWS_ACCESS_KEY_ID"], aws_secret_access_key=info.env["AWS_SECRET_ACCESS_KEY"]
    ).client("ec2", region_name="cn-northwest-1", endpoint_url=info.url, config=Config(proxies={}))
    image = next(i for i in IMAGES if i.architecture == "arm64" and i.parameters)
    ec2.run_instances(
        ImageId=image.id_in("cn-northwest-1"), InstanceType="c8g.large", MinCount=1, MaxCount=1, UserData=USER_DATA
    )


@pytest.mark.parametrize("end", ["stop", "kill -9"])
def test_no_process_is_left(tmp_path, until, end):
    state_dir = tmp_path / "state"
    folder = str(machines_folder(state_dir))
    info = sandbox.start(state_dir)
    try:
        assert info.machines == "process"
        _launch(info)
        until(lambda: processes.members(folder))
        if end == "kill -9":
            server = ProcessId.of(info.pid)
            os.kill(info.pid, signal.SIGKILL)
            until(lambda: not server.alive())
    finally:
        sandbox.stop(state_dir)
    assert not processes.members(folder)
    assert not os.path.exists(folder)
