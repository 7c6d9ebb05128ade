"""On AWS's notice a real firewall turns new requests away while the one in flight is answered."""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import socket
import struct
import threading
import urllib.request
from collections.abc import Callable

import pytest

from tests.unit.agent.box import Box, wait_until
from tests.unit.agent.engines import serving
from tests.unit.agent.servers import Metadata
from tests.unit.agent.test_interruption import ACTION, Asking, notice

pytestmark = pytest.mark.box

_CLONE_NEWNET, _SIOCSIFFLAGS, _UP_RUNNING = 0x40000000, 0x8914, 0x41


def in_own_network(act: Callable[[], None]) -> None:
    """Run it in a thread that has a network namespace of its own, with a loopback and nothing else."""
    problems: list[BaseException] = []

    def work() -> None:
        try:
            if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET):
                pytest.fail(f"no network of its own: {os.strerror(ctypes.get_errno())}", pytrace=False)
            with socket.socket() as any_socket:
                fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", _UP_RUNNING))
            act()
        except BaseException as problem:  # noqa: BLE001 - carried to the thread that waits
            problems.append(problem)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if problems:
        raise problems[0]


def test_new_requests_are_turned_away_while_the_one_in_flight_is_answered(box: Box) -> None:
    program = shutil.which("iptables", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if program is None:
        pytest.fail("there is no iptables on this host", pytrace=False)
    wrapper = box.root / "bin/iptables"
    wrapper.write_text(f'#!/bin/sh\nPATH=/usr/sbin:/usr/bin:/sbin:/bin exec {program} "$@"\n')
    wrapper.chmod(0o755)

    def act() -> None:
        with Metadata() as metadata:
            box.config["spot_poll_s"] = 0.05
            box.environ["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = metadata.url
            box.program(serving(held=str(box.root / "release")))
            box.start()
            box.said("ready", "done")
            health = f"http://127.0.0.1:{box.port}/health"
            assert urllib.request.urlopen(health, timeout=5).status == 200
            asking = Asking(box)
            wait_until(asking.is_alive)
            metadata.notices[ACTION] = notice(100)
            box.said("interruption", "start")
            wait_until(lambda: not answers(health))
            assert asking.is_alive(), "the engine still works on it, and yet takes nothing new"
            (box.root / "release").touch()
            assert box.said("interruption", "done")["detail"]["connections"] == 0
            asking.join(10)
            assert asking.status == 200
            assert box.lines("interruption", "progress") == []

    in_own_network(act)


def answers(url: str) -> bool:
    try:
        return bool(urllib.request.urlopen(url, timeout=5).status == 200)
    except OSError:
        return False
