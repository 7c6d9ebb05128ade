"""Commands and files through a real ssh server in this process: quoting, offsets, broken connections."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import paramiko
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deployer.access.errors import SshError
from deployer.access.files import LocalFile
from deployer.access.keys import ensure_private_key
from deployer.access.login import SshTarget
from deployer.access.remote_file import RemoteFile
from deployer.access.running import run
from deployer.access.ssh import SshSession, connect
from deployer.errors import RefusedError
from deployer.events import Event
from deployer.rehearsal.machines.sshd import SshServer
from deployer.targets.following import follow
from deployer.targets.logs import Logs, Want
from tests.support.ssh_server import new_ed25519, public

FEW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@dataclass
class Host:
    """A box with an ssh server; `cut` ends every connection, as a reboot does, and goes on listening."""

    folder: Path
    port: int
    key: Path
    host_key: paramiko.PKey
    server: SshServer

    @property
    def target(self) -> SshTarget:
        return SshTarget("127.0.0.1", self.port, "ec2-user", self.key, (public(self.host_key),))

    def cut(self, host_key: paramiko.PKey | None = None) -> None:
        self.server.close()
        self.server = self._serve(host_key or self.host_key)

    def _serve(self, host_key: paramiko.PKey) -> SshServer:
        return serve(self.folder, self.port, self.key, host_key)


def serve(folder: Path, port: int, key: Path, host_key: paramiko.PKey) -> SshServer:
    environment = {"PATH": os.environ["PATH"], "DEPLOYER_AGENT_ROOT": str(folder)}
    return SshServer("127.0.0.1", port, host_key, ensure_private_key(key), folder, lambda: environment)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("host")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    key, host_key = folder / "key", new_ed25519()
    made = Host(folder, port, key, host_key, serve(folder, port, key, host_key))
    yield made
    made.server.close()


@pytest.fixture(scope="module")
def session(host: Host) -> Iterator[SshSession]:
    with connect(host.target) as opened:
        yield opened


@pytest.fixture(scope="module")
def remote(host: Host) -> Iterator[RemoteFile]:
    """One for all examples: it is made to be asked often."""
    opened = RemoteFile(connect(host.target), "/file")
    yield opened
    opened.close()


_ARGUMENTS = st.lists(st.binary(max_size=40).filter(lambda data: b"\0" not in data), max_size=6)


@FEW
@given(_ARGUMENTS)
def test_any_argument_arrives_as_it_is(session: SshSession, arguments: list[bytes]) -> None:
    out: list[bytes] = []
    script = 'for one in "$@"; do printf "%s\\0" "$one"; done'
    argv = ["sh", "-c", script, "sh", *(os.fsdecode(data) for data in arguments)]
    assert run(session, argv, out=out.append, err=out.append) == 0
    assert b"".join(out) == b"".join(data + b"\0" for data in arguments)


def test_what_a_sink_raises_ends_the_command(session: SshSession) -> None:
    class Full(Exception):
        pass

    def full(_data: bytes) -> None:
        raise Full

    for streams in ({"out": full, "err": len}, {"out": len, "err": full}):
        with pytest.raises(Full):
            run(session, ["sh", "-c", "while echo y && echo y >&2; do :; done"], **streams)
    assert run(session, ["true"], out=len, err=len) == 0


def test_a_connection_that_breaks_is_no_status(host: Host) -> None:
    with connect(host.target) as own, pytest.raises(SshError) as raised:
        run(own, ["sh", "-c", "echo; exec sleep 60"], out=lambda _data: host.cut(), err=len)
    assert raised.value.reason == "closed" and "connection broke" in raised.value.message


@FEW
@given(st.binary(max_size=3000), st.integers(-4000, 4000), st.integers(1, 4000))
def test_a_remote_file_reads_as_a_local_one(
    host: Host, remote: RemoteFile, content: bytes, start: int, limit: int
) -> None:
    path = host.folder / "file"
    path.write_bytes(content)
    assert remote.read(start, limit) == LocalFile(path).read(start, limit)


def test_no_file_and_one_that_may_not_be_read(host: Host, tmp_path: Path) -> None:
    missing = RemoteFile(connect(host.target), "/nothing here")
    assert missing.read(0, 10) is None and LocalFile(tmp_path / "none").read(0, 10) is None
    missing.close()
    if os.getuid() != 0:
        (host.folder / "closed").touch(mode=0o000)
        closed = RemoteFile(connect(host.target), "/closed")
        with pytest.raises(RefusedError):
            closed.read(0, 10)
        closed.close()


def test_following_survives_a_broken_connection_and_misses_nothing(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deployer.targets.following._ENGINE_SECONDS", 0.05)
    monkeypatch.setattr("deployer.targets.following._RETRY_SECONDS", 0.05)
    log = host.folder / "engine.log"
    log.write_text("0\n1\n")
    stop = threading.Event()
    events = _events(host, stop)
    assert next(events) == _line("1")
    for number in range(2, 6):
        host.cut()
        with log.open("a") as file:
            file.write(f"{number}\n")
        assert _next_line(events) == _line(str(number))
    log.write_text("again\n")
    assert _next_line(events) == _line("again")
    stop.set()
    assert list(events) == []


def test_following_ends_at_another_host_key(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deployer.targets.following._ENGINE_SECONDS", 0.05)
    monkeypatch.setattr("deployer.targets.following._RETRY_SECONDS", 0.05)
    (host.folder / "engine.log").write_text("1\n")
    events = _events(host, threading.Event())
    assert next(events) == _line("1")
    host.cut(new_ed25519())
    with pytest.raises(SshError) as raised:
        _next_line(events)
    assert raised.value.reason == "host_key"
    host.cut()


def _events(host: Host, stop: threading.Event) -> Iterator[Event]:
    logs = Logs("box", lambda: "", lambda: RemoteFile(connect(host.target), "/engine.log"), None, 0.05)
    return follow(logs, Want(console="none", engine=True, lines=1), stop)


def _line(text: str) -> Event:
    return Event("log", {"source": "engine", "line": text})


def _next_line(events: Iterator[Event]) -> Event:
    return next(event for event in events if event.name == "log")
