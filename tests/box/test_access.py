"""`logs`, `exec` and `ssh` on a booted machine: its own OpenSSH, sudo, serial console."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from deployer.rehearsal import sandbox
from tests.access_cli.support import SPEC, STACK, Box
from tests.access_cli.test_exec import HOSTILE
from tests.rehearse.support import Sandbox

pytestmark = pytest.mark.box

#: Another machine on the same address, as far as a client can tell.
_NEW_KEYS = "rm /etc/ssh/ssh_host_* && ssh-keygen -q -A && systemctl restart ssh"


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    state: Path = tmp_path_factory.mktemp("access") / "sandbox"
    info = sandbox.start(state, machines="booted", parent_pid=os.getpid())
    shell = Sandbox(state, info.env)
    shell.run("up", SPEC)
    yield Box(shell, STACK)
    sandbox.stop(state)


def test_a_command_with_its_arguments_input_and_status(box: Box) -> None:
    ran = box.run("exec", "--", "sh", "-c", 'printf "%s\\0" "$@"; cat >&2; exit 7', "sh", *HOSTILE, stdin=b"given")
    words = [word if isinstance(word, bytes) else word.encode() for word in HOSTILE]
    assert (ran.code, ran.out, ran.err) == (7, b"".join(word + b"\0" for word in words), b"given")


def test_a_signal_leaves_no_status(box: Box) -> None:
    ran = box.run("exec", "--json", "--", "sh", "-c", "kill -9 $$")
    assert ran.code == 255 and "a signal ended it" in ran.error["message"]


def test_the_engine_log_is_read_though_only_root_may(box: Box) -> None:
    assert box.run("exec", "--", "cat", "/var/log/deployer/engine.log").code != 0
    sources = [json.loads(line)["source"] for line in box.run("logs", "--json", "--lines", "3").out.splitlines()]
    assert sources == ["agent"] * 3 + ["engine"] * 3
    assert b"systemd" in box.run("logs", "--console", "--lines", "1000").out


def test_new_host_keys_are_refused_by_every_way_in(box: Box) -> None:
    """The last one: nobody gets in afterwards."""
    assert box.run("ssh", "--", "exit 3").code == 3
    assert box.run("exec", "--", "sudo", "sh", "-c", _NEW_KEYS).code == 0
    ours, theirs, logs = box.run("exec", "--json", "--", "true"), box.run("ssh", "--", "true"), box.run("logs")
    assert ours.code == 255 and "host key" in ours.error["message"]
    assert theirs.code == 255 and b"Host key verification failed" in theirs.err
    assert logs.code == 0 and "✔ ready".encode() in logs.out and b"host key" in logs.err
