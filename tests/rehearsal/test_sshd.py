"""The machine's ssh server: who gets in, what is run, and streams side by side."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator

import paramiko
import pytest

from deployer.access import host_keys
from tests.rehearsal import boxes
from tests.support.ssh_server import new_ed25519, public
from tests.support.waiting import until

STREAMS = 8


class Shout(socketserver.BaseRequestHandler):
    """Reads to the end, then answers in capitals."""

    def handle(self) -> None:
        received = b""
        while data := self.request.recv(65536):
            received += data
        self.request.sendall(received.upper())


@pytest.fixture(scope="module")
def key() -> paramiko.Ed25519Key:
    return new_ed25519()


@pytest.fixture
def machine(hypervisor, key):
    return boxes.boot(hypervisor, boxes.user_data(), **{"public-keys/0/openssh-key": f"{public(key)} me@laptop"})


@pytest.fixture
def client(machine, key) -> Iterator[paramiko.SSHClient]:
    with connect(machine, pkey=key) as found:
        yield found


@pytest.fixture
def shout(machine) -> Iterator[int]:
    server = socketserver.ThreadingTCPServer((machine.launch.address, 0), Shout)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def connect(machine, user="ec2-user", **credentials) -> paramiko.SSHClient:
    client = paramiko.SSHClient()
    client.set_missing_host_key_policy(paramiko.AutoAddPolicy())
    client.connect(
        machine.launch.address,
        machine.ssh_port,
        user,
        allow_agent=False,
        look_for_keys=False,
        timeout=10,
        **credentials,
    )
    return client


def test_the_host_key_is_the_one_on_the_console(machine, client):
    seen = client.get_transport().get_remote_server_key()
    assert host_keys.from_console(machine.console().decode()) == [public(seen)]


def test_only_the_imported_key_and_user_get_in(machine, key):
    for user, credentials in [
        ("ec2-user", {"pkey": new_ed25519()}),
        ("root", {"pkey": key}),
        ("ec2-user", {"password": "ec2-user"}),
    ]:
        with pytest.raises(paramiko.SSHException):
            connect(machine, user, **credentials).close()


def test_without_a_key_pair_nobody_gets_in(hypervisor, key):
    machine = boxes.boot(hypervisor, boxes.user_data(), number=2)
    with pytest.raises(paramiko.SSHException):
        connect(machine, pkey=key).close()


def test_commands_run_at_the_root_with_their_status(machine, client):
    stdin, stdout, stderr = client.exec_command("pwd; cat; echo wrong >&2; exit 7", timeout=10)
    stdin.write("from here")
    stdin.channel.shutdown_write()
    assert stdout.read().decode() == f"{machine.root}\nfrom here"
    assert stderr.read() == b"wrong\n"
    assert stdout.channel.recv_exit_status() == 7
    _, stdout, _ = client.exec_command("kill -9 $$", timeout=10)
    assert stdout.channel.recv_exit_status() == 128 + 9


def test_the_machines_own_systemctl_answers_in_a_session(client):
    _, stdout, _ = client.exec_command("systemctl is-active box; command -v llama-server", timeout=10)
    first, second = stdout.read().decode().split()
    assert first == "active"
    assert second.endswith("/bin/ssh/llama-server")


def test_streams_run_side_by_side(client, shout):
    transport = client.get_transport()
    answers: dict[int, bytes] = {}

    def exchange(number: int) -> None:
        channel = transport.open_channel("direct-tcpip", ("127.0.0.1", shout), ("127.0.0.1", 0))
        for _ in range(20):
            channel.sendall(bytes([97 + number]) * 10_000)
        channel.shutdown_write()
        received = b""
        while data := channel.recv(65536):
            received += data
        answers[number] = received
        channel.close()

    threads = [threading.Thread(target=exchange, args=(number,)) for number in range(STREAMS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert answers == {number: bytes([65 + number]) * 200_000 for number in range(STREAMS)}


def test_a_client_that_hangs_up_is_noticed_on_the_machine(machine, client):
    with socket.create_server((machine.launch.address, 0)) as listener:
        channel = client.get_transport().open_channel(
            "direct-tcpip", ("localhost", listener.getsockname()[1]), ("127.0.0.1", 0)
        )
        connection, _ = listener.accept()
        connection.settimeout(10)
        channel.close()
        assert connection.recv(1) == b""
        connection.close()


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", 1), ("192.0.2.1", 80), ("example.invalid", 80)])
def test_closed_ports_and_the_world_outside_are_refused(client, host, port):
    with pytest.raises(paramiko.ChannelException):
        client.get_transport().open_channel("direct-tcpip", (host, port), ("127.0.0.1", 0), timeout=10)


def test_a_halt_drops_the_connection(machine, client):
    machine.halt()
    until(lambda: not client.get_transport().is_active(), "the connection being dropped")


def test_a_stranger_who_speaks_no_ssh_does_no_harm(machine, key):
    with socket.create_connection((machine.launch.address, machine.ssh_port), timeout=5) as stranger:
        stranger.sendall(b"GET / HTTP/1.0\r\n\r\n")
    connect(machine, pkey=key).close()
