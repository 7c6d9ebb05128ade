"""`deployer ssh`: the command it makes, as the real ssh understands it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from deployer.access.keys import ensure_private_key
from deployer.access.login import SshTarget
from deployer.access.openssh import command, prepare
from tests.access_cli.support import STACK, Box
from tests.support.ssh_server import SshServer, new_ed25519, public

needs_ssh = pytest.mark.skipif(shutil.which("ssh") is None, reason="this machine has no ssh program")


def _understood(words: list[str]) -> dict[str, str]:
    """What `ssh -G` makes of the command line."""
    done = subprocess.run([words[0], "-G", *words[1:]], capture_output=True, text=True, check=True)
    return dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)


@needs_ssh
def test_ssh_understands_what_is_printed(box: Box) -> None:
    words = shlex.split(box.run("ssh", STACK, "--print", "--", "-v").out.decode())
    assert words == [*json.loads(box.run("ssh", STACK, "--print", "--json").out)["command"], "-v"]
    found = _understood(words[:-1])
    known_hosts = found["userknownhostsfile"]
    assert found["user"] == "ec2-user" and found["hostname"].startswith("127.72.")
    assert found["stricthostkeychecking"] in ("true", "yes") and found["identitiesonly"] == "yes"
    assert found["globalknownhostsfile"] == "/dev/null" and found["updatehostkeys"] in ("false", "no")
    assert Path(found["identityfile"].strip('"')).is_file()
    assert words[words.index("-F") + 1] == "/dev/null"
    written = Path(known_hosts.strip('"'))
    assert " " in str(written) and written.stat().st_mode & 0o777 == 0o600
    shown = (box.root / "etc/ssh/ssh_host_ed25519_key.pub").read_text().split()[1]
    assert shown in written.read_text() and f"[{found['hostname']}]:{found['port']} " in written.read_text()


@needs_ssh
def test_the_real_ssh_logs_in_and_its_status_is_ours(box: Box) -> None:
    ran = box.run("ssh", STACK, "--", "echo out; echo err >&2; exit 3")
    assert (ran.code, ran.out, ran.err) == (3, b"out\n", b"err\n")


@needs_ssh
def test_the_real_ssh_refuses_another_host_key(box: Box) -> None:
    with box.another_host_key():
        ran = box.run("ssh", STACK, "--", "touch never")
    assert ran.code == 255 and b"Host key verification failed" in ran.err
    assert not (box.root / "never").exists()


def test_without_an_ssh_program_it_says_what_else_there_is(box: Box) -> None:
    ran = box.run("ssh", STACK, "--json", PATH="/nonexistent")
    assert ran.code == 3 and "no ssh program" in ran.error["message"]
    assert "deployer exec" in ran.error["hint"]


@needs_ssh
def test_through_a_bastion_with_the_key_and_the_pins(tmp_path: Path) -> None:
    """Two real servers; the bastion is met for the first time and is pinned as for every other command."""
    folder = tmp_path / "a % b"
    key = folder / "key"
    authorized = (ensure_private_key(key),)
    pins, known_hosts = folder / "bastions", folder / "known_hosts"
    with SshServer(authorized=authorized) as inside, SshServer(authorized=authorized, user="jump") as bastion:
        target = SshTarget(
            "127.0.0.1",
            inside.port,
            inside.user,
            key,
            (inside.public_host_key,),
            bastion=f"jump@127.0.0.1:{bastion.port}",
            bastion_pins=pins,
        )
        prepare(target, known_hosts)
        assert bastion.public_host_key in pins.read_text()
        words = command(target, known_hosts, ["echo through"])
        environ = {**os.environ, "SHELL": "/bin/sh"}
        done = subprocess.run(
            words, env=environ, stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False
        )
        assert (done.returncode, done.stdout) == (0, b"through\n"), done.stderr
        known_hosts.write_text(known_hosts.read_text().replace(bastion.public_host_key, public(new_ed25519())))
        done = subprocess.run(
            words, env=environ, stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False
        )
        assert done.returncode == 255 and b"Host key verification failed" in done.stderr
