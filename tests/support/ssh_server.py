"""A real SSH server on loopback (paramiko's server side): public key login, exec, direct-tcpip."""

from __future__ import annotations

import contextlib
import io
import socket
import subprocess
import threading

import paramiko
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519


def new_ed25519() -> paramiko.Ed25519Key:
    """A fresh key; paramiko itself only generates the other types."""
    pem = ed25519.Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    return paramiko.Ed25519Key.from_private_key(io.StringIO(pem.decode()))


def public(key: paramiko.PKey) -> str:
    """`type base64`."""
    return f"{key.get_name()} {key.get_base64()}"


class _Transport(paramiko.Transport):
    """Starts a command only when its request has been answered, as sshd does; paramiko has no hook for that moment.

    A short command would else end its channel before the client knows that it was accepted.
    """

    def __init__(self, client: socket.socket) -> None:
        super().__init__(client)
        self.accepted: list[threading.Thread] = []

    def _send_user_message(self, data):
        super()._send_user_message(data)
        # Requests are handled in this transport's own thread, so its next message is the answer.
        if threading.current_thread() is self:
            while self.accepted:
                self.accepted.pop().start()


class _Rules(paramiko.ServerInterface):
    def __init__(self, server: SshServer) -> None:
        self._server = server
        self.destinations: dict[int, tuple[str, int]] = {}
        self.commands: dict[int, bytes] = {}

    def get_allowed_auths(self, username):
        return "publickey"

    def check_auth_publickey(self, username, key):
        self._server.offered.append((username, key.get_base64()))
        accepted = public(key) in self._server.authorized
        return paramiko.AUTH_SUCCESSFUL if accepted and username == self._server.user else paramiko.AUTH_FAILED

    def check_channel_request(self, kind, chanid):
        return paramiko.OPEN_SUCCEEDED if kind == "session" else paramiko.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED

    def check_channel_direct_tcpip_request(self, chanid, origin, destination):
        try:
            connection = socket.create_connection(destination, timeout=5)
        except OSError:
            return paramiko.OPEN_FAILED_CONNECT_FAILED
        connection.settimeout(None)
        self._server.connections[chanid] = connection
        self._server.opened += 1
        return paramiko.OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel, command):
        channel.transport.accepted.append(threading.Thread(target=_execute, args=(channel, command), daemon=True))
        return True


def _execute(channel: paramiko.Channel, command: bytes) -> None:
    done = subprocess.run(["sh", "-c", command.decode()], capture_output=True, check=False)
    channel.sendall(done.stdout)
    channel.sendall_stderr(done.stderr)
    channel.send_exit_status(done.returncode)
    channel.close()


class SshServer:
    """Listens on 127.0.0.1:port. authorized: `type base64` of public keys. A context manager."""

    def __init__(
        self, *, user: str = "ec2-user", authorized: tuple[str, ...] = (), host_key=None, port: int = 0
    ) -> None:
        self.user = user
        self.authorized = set(authorized)
        self.host_key = host_key or new_ed25519()
        self.offered: list[tuple[str, str]] = []
        self.opened = 0
        self.connections: dict[int, socket.socket] = {}
        self._transports: list[paramiko.Transport] = []
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def public_host_key(self) -> str:
        return public(self.host_key)

    def drop_connections(self) -> None:
        """Cut every SSH connection, as a reboot or a NAT does."""
        for transport in self._transports:
            transport.close()

    def close(self) -> None:
        with contextlib.suppress(OSError, EOFError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop_connections()
        for connection in self.connections.values():
            connection.close()

    def __enter__(self) -> SshServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        transport = _Transport(client)
        transport.daemon = True
        transport.add_server_key(self.host_key)
        self._transports.append(transport)
        with contextlib.suppress(paramiko.SSHException, EOFError, OSError):
            transport.start_server(server=_Rules(self))
            while transport.is_active():
                channel = transport.accept(1.0)
                if channel is not None and (connection := self.connections.get(channel.chanid)) is not None:
                    for copy in (_to_socket, _to_channel):
                        threading.Thread(target=copy, args=(channel, connection), daemon=True).start()


def _to_socket(channel: paramiko.Channel, connection: socket.socket) -> None:
    with contextlib.suppress(OSError, EOFError):
        while data := channel.recv(32768):
            connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)


def _to_channel(channel: paramiko.Channel, connection: socket.socket) -> None:
    with contextlib.suppress(OSError, EOFError):
        while data := connection.recv(32768):
            channel.sendall(data)
        channel.shutdown_write()
