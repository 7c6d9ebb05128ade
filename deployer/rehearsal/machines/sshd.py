"""The machine's ssh server: public key only, commands and forwarded TCP streams, by paramiko's server side."""

from __future__ import annotations

import base64
import contextlib
import ipaddress
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import paramiko
from paramiko.common import (
    AUTH_FAILED,
    AUTH_SUCCESSFUL,
    OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED,
    OPEN_FAILED_CONNECT_FAILED,
    OPEN_SUCCEEDED,
)

from deployer.rehearsal.machines.streams import pump

USER = "ec2-user"
_CONNECT_SECONDS = 5.0
_KEEPALIVE_SECONDS = 30


class SshServer:
    """Listens from construction to close().

    authorised: one public key in OpenSSH format, None lets nobody in. folder, environment: for commands.
    """

    def __init__(
        self,
        address: str,
        port: int,
        host_key: paramiko.PKey,
        authorised: str | None,
        folder: Path,
        environment: Callable[[], Mapping[str, str]],
    ) -> None:
        self.address = address
        self.folder = folder
        self.environment = environment
        self.authorised = _blob(authorised)
        self._host_key = host_key
        self._transports: set[paramiko.Transport] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._listener = socket.create_server((address, port), backlog=64)
        threading.Thread(target=self._accept, name="sshd", daemon=True).start()

    def close(self) -> None:
        """Stop listening and drop every connection."""
        with self._lock:
            self._closed = True
            transports = list(self._transports)
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for transport in transports:
            transport.close()

    def target(self, host: str) -> str | None:
        """Where a forwarded stream goes: the box's loopback is the machine's address, other machines are reachable."""
        if host in ("localhost", "127.0.0.1", "::1"):
            return self.address
        try:
            return host if ipaddress.ip_address(host).is_loopback else None
        except ValueError:
            return None

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), name="sshd-session", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        transport = paramiko.Transport(client)
        transport.local_version = "SSH-2.0-OpenSSH_rehearsal"
        transport.add_server_key(self._host_key)
        transport.daemon = True
        with self._lock:
            if self._closed:
                client.close()
                return
            self._transports.add(transport)
        session = _Session(self)
        try:
            transport.start_server(server=session)
            transport.set_keepalive(_KEEPALIVE_SECONDS)
            while transport.is_active():
                channel = transport.accept(1.0)
                if channel is not None:
                    session.opened(channel)
        except (paramiko.SSHException, EOFError, OSError):
            return  # the client spoke no ssh, or went away
        finally:
            transport.close()
            with self._lock:
                self._transports.discard(transport)


class _Session(paramiko.ServerInterface):
    def __init__(self, server: SshServer) -> None:
        self._server = server
        self._streams: dict[int, socket.socket] = {}

    def opened(self, channel: paramiko.Channel) -> None:
        """Join a forwarded stream with its connection; a session channel waits for its request."""
        stream = self._streams.pop(channel.get_id(), None)
        if stream is not None:
            pump(channel, stream)

    def get_allowed_auths(self, username: str) -> str:
        return "publickey"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        known = self._server.authorised
        return AUTH_SUCCESSFUL if username == USER and known is not None and key.asbytes() == known else AUTH_FAILED

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return OPEN_SUCCEEDED if kind == "session" else OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED

    def check_channel_direct_tcpip_request(
        self, chanid: int, origin: tuple[str, int], destination: tuple[str, int]
    ) -> int:
        host = self._server.target(destination[0])
        if host is None:
            return OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED
        try:
            self._streams[chanid] = socket.create_connection((host, destination[1]), timeout=_CONNECT_SECONDS)
        except OSError:
            return OPEN_FAILED_CONNECT_FAILED
        self._streams[chanid].settimeout(None)
        return OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        threading.Thread(target=self._execute, args=(channel, command), name="sshd-exec", daemon=True).start()
        return True

    def _execute(self, channel: paramiko.Channel, command: bytes) -> None:
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=self._server.folder,
            env=dict(self._server.environment()),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        feeders = [
            threading.Thread(target=_copy_out, args=(process.stdout, channel.sendall), daemon=True),
            threading.Thread(target=_copy_out, args=(process.stderr, channel.sendall_stderr), daemon=True),
        ]
        for feeder in feeders:
            feeder.start()
        threading.Thread(target=_copy_in, args=(channel, process.stdin), daemon=True).start()
        status = process.wait()
        for feeder in feeders:
            feeder.join()
        with contextlib.suppress(OSError, EOFError):
            channel.send_exit_status(status if status >= 0 else 128 - status)
            channel.close()


def _copy_out(source: Any, send: Callable[[bytes], Any]) -> None:
    with contextlib.suppress(OSError, EOFError):
        while data := source.read1(65536):
            send(data)


def _copy_in(channel: paramiko.Channel, sink: Any) -> None:
    with contextlib.suppress(OSError, EOFError, ValueError):
        while data := channel.recv(65536):
            sink.write(data)
            sink.flush()
    with contextlib.suppress(OSError):
        sink.close()


def _blob(public_key: str | None) -> bytes | None:
    words = (public_key or "").split()
    return base64.b64decode(words[1]) if len(words) >= 2 else None
