"""`image build --on-instance` in an embedded AWS: the builder comes, is worked on over SSH, and always goes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deployer.rehearsal import sandbox
from tests.box.images.building import archive
from tests.rehearse.support import Sandbox
from tests.support.waiting import until

pytestmark = pytest.mark.box
_SPEC = "stacks/c8i-35b-a3b.yaml"


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Sandbox]:
    info = sandbox.start(tmp_path / "sandbox", machines="process", parent_pid=os.getpid())
    yield Sandbox(info.state_dir, info.env)
    sandbox.stop(tmp_path / "sandbox")


def build(shell: Sandbox) -> subprocess.Popen[str]:
    words = ["--source", str(archive()), "--base", "r.example/debian@sha256:" + "1" * 64, "--on-instance", "--json"]
    return shell.start("image", "build", _SPEC, *words)


def test_a_builder_that_cannot_build_is_taken_away(shell: Sandbox) -> None:
    with build(shell) as process:
        out, err = process.communicate(timeout=120)
    assert process.returncode == 1, out + err
    error = json.loads((out + err).splitlines()[-1])["error"]
    assert error["code"] == "image_build" and "failed with exit code" in error["message"]
    assert [call for call in shell.calls("RunInstances") if call["status"] == 200]
    assert shell.status() == {"resources": [], "machines": []}


def test_ctrl_c_takes_the_builder_away(shell: Sandbox) -> None:
    with build(shell) as process:
        until(lambda: shell.calls("RunInstances"), "the builder is launched", seconds=60)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130, out + err
    assert shell.status() == {"resources": [], "machines": []}
