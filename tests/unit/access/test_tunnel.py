from __future__ import annotations

import contextlib
import os
import socket
import threading

import pytest

from deployer.access.ssh import connect
from deployer.access.tunnel import open_tunnel
from deployer.errors import RefusedError
from tests.support.waiting import until


class Echo:
    """Sends back what it gets; `before_end` is sent after the client's end of stream."""

    def __init__(self, before_end: bytes = b"", answer: bytes | None = None) -> None:
        self._before_end = before_end
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.clients: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.clients.append(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if self._answer is not None:
                client.sendall(self._answer)
            while data := client.recv(65536):
                if self._answer is None:
                    client.sendall(data)
            client.sendall(self._before_end)
            client.close()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for client in self.clients:
            client.close()


@pytest.fixture
def echo():
    running = Echo(before_end=b"-the end")
    yield running
    running.close()


def _dial(tunnel) -> socket.socket:
    return socket.create_connection(("127.0.0.1", tunnel.local_port), timeout=10)


def _all(sock: socket.socket) -> bytes:
    parts = []
    while data := sock.recv(65536):
        parts.append(data)
    return b"".join(parts)


def _threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("tunnel")}


def test_many_streams_at_once_with_half_close(target, echo):
    with open_tunnel(connect(target), echo.port) as tunnel:
        failures: list[str] = []

        def talk(number: int) -> None:
            data = os.urandom(40_000) + str(number).encode()
            with _dial(tunnel) as sock:
                sender = threading.Thread(target=lambda: (sock.sendall(data), sock.shutdown(socket.SHUT_WR)))
                sender.start()
                got = _all(sock)
                sender.join()
            if got != data + b"-the end":
                failures.append(f"{number}: {len(got)} bytes")

        threads = [threading.Thread(target=talk, args=(number,)) for number in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert failures == []
        assert tunnel.last_error is None
    assert _threads() == set()


def test_a_reader_that_stops_holds_the_writer_back(target):
    whole = 128 << 20
    sent = [0]
    chunk = bytes(65536)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def pour() -> None:
            client, _ = listener.accept()
            with client, contextlib.suppress(OSError):
                while sent[0] < whole:
                    sent[0] += client.send(chunk)

        threading.Thread(target=pour, daemon=True).start()
        with open_tunnel(connect(target), listener.getsockname()[1]) as tunnel, _dial(tunnel) as sock:
            assert sock.recv(1) == b"\0"
            stands = threading.Event()
            before = -1
            while before != sent[0]:
                before = sent[0]
                stands.wait(0.3)
            assert sent[0] < whole


def test_nothing_listens_behind_the_tunnel(target):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with open_tunnel(connect(target), port) as tunnel, _dial(tunnel) as sock:
        with pytest.raises(ConnectionResetError):
            sock.recv(1)
        assert tunnel.last_error.reason == "refused"
        assert tunnel.alive


def test_a_lost_connection_resets_its_streams_and_the_next_one_logs_in_again(target, server, echo):
    logins = []

    def again():
        logins.append(1)
        return connect(target)

    with open_tunnel(connect(target), echo.port, reconnect=again) as tunnel:
        with _dial(tunnel) as sock:
            sock.sendall(b"one")
            assert sock.recv(3) == b"one"
            server.drop_connections()
            with pytest.raises(ConnectionResetError):
                sock.recv(1)
        socks = [_dial(tunnel) for _ in range(4)]
        for sock in socks:
            with sock:
                sock.sendall(b"two")
                assert sock.recv(3) == b"two"
        assert len(logins) == 1


def test_without_reconnect_the_loss_is_told(target, server, echo):
    with open_tunnel(connect(target), echo.port) as tunnel:
        server.drop_connections()
        until(lambda: not tunnel.alive, "the drop is noticed")
        # The cut may reach the client before its connect call has returned.
        with contextlib.suppress(ConnectionResetError), _dial(tunnel) as sock:
            assert sock.recv(1) == b""
        until(lambda: tunnel.last_error is not None, "the loss is told")
        assert tunnel.last_error.reason == "closed"


def test_a_client_that_leaves_ends_the_far_side(target, echo):
    with open_tunnel(connect(target), echo.port) as tunnel:
        sock = _dial(tunnel)
        sock.sendall(b"x")
        assert sock.recv(1) == b"x"
        sock.close()
        until(lambda: _threads() == {f"tunnel-{tunnel.local_port}"}, "the stream's threads end")


def test_close_cuts_open_streams_and_frees_the_port(target, echo):
    tunnel = open_tunnel(connect(target), echo.port)
    sock = _dial(tunnel)
    sock.sendall(b"x")
    assert sock.recv(1) == b"x"
    tunnel.close()
    tunnel.close()
    with contextlib.suppress(ConnectionResetError):
        assert sock.recv(1) == b""
    sock.close()
    assert _threads() == set()
    with socket.create_server(("127.0.0.1", tunnel.local_port)):
        pass


def test_a_taken_local_port_is_refused(target, echo):
    with connect(target) as session, socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RefusedError, match=f"port {port} on this machine is in use"):
            open_tunnel(session, echo.port, local_port=port)
