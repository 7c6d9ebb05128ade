"""SSH to the instance: one key, pinned host keys, nothing of the user's own SSH set-up.

No ~/.ssh/known_hosts, no agent, no password, no configuration file: what is not in the SshTarget does not count.
paramiko is loaded by the first connection.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deployer.access.bastions import BastionPins, parse_bastion
from deployer.access.errors import SshError
from deployer.access.login import SshTarget
from deployer.access.streams import close_channel

if TYPE_CHECKING:
    import paramiko

__all__ = ["ExecResult", "SshError", "SshSession", "SshTarget", "connect"]


@dataclass(frozen=True)
class ExecResult:
    """What a remote command did. exit_code is -1 when the server did not say."""

    exit_code: int
    stdout: bytes
    stderr: bytes


class SshSession:
    """An authenticated connection. Usable from several threads; close may be called twice."""

    def __init__(self, target: SshTarget, transport: paramiko.Transport, through: SshSession | None = None) -> None:
        self.target = target
        self._transport = transport
        self._through = through

    @property
    def alive(self) -> bool:
        """False once the connection is known to be gone."""
        return self._transport.is_authenticated()

    def exec(self, argv: list[str], *, timeout: float = 60.0) -> ExecResult:
        """Run one command (quoted for a POSIX shell) and collect its output. timeout: seconds without any output.

        Raises SshError when the connection ends or the time is over.
        """
        import paramiko

        command = shlex.join(argv)
        channel = self._open("session", timeout, None)
        try:
            channel.settimeout(timeout)
            channel.exec_command(command)
            stdout, stderr = _drain_both(channel)
            channel.status_event.wait(timeout)
            return ExecResult(channel.exit_status, stdout, stderr)
        except TimeoutError as error:
            raise SshError(
                f"{command}: nothing for {timeout:.0f} s", reason="timeout", where=self.target.name
            ) from error
        except (OSError, EOFError, paramiko.SSHException) as error:
            raise SshError(f"the connection broke: {error}", reason="closed", where=self.target.name) from error
        finally:
            close_channel(channel)

    def open_command(self, argv: list[str], *, timeout: float = 15.0) -> paramiko.Channel:
        """Start one command (quoted for a POSIX shell) and give its channel; the caller closes it.

        Raises SshError when no session can be opened within `timeout` seconds.
        """
        import paramiko

        channel = self._open("session", timeout, None)
        try:
            # Arguments that are no UTF-8 go out as the bytes they came in as.
            channel.exec_command(os.fsencode(shlex.join(argv)))
        except (OSError, EOFError, paramiko.SSHException) as error:
            close_channel(channel)
            raise SshError(f"the connection broke: {error}", reason="closed", where=self.target.name) from error
        return channel

    def open_stream(self, port: int, *, host: str = "127.0.0.1", timeout: float = 10.0) -> paramiko.Channel:
        """A byte stream to host:port as the far machine sees them.

        Raises SshError: `refused` when nothing listens there (the connection itself is fine), else `closed`.
        """
        return self._open("direct-tcpip", timeout, (host, port))

    def close(self) -> None:
        """End the connection, and the bastion's."""
        self._transport.close()
        if self._through is not None:
            self._through.close()

    def __enter__(self) -> SshSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, kind: str, timeout: float, destination: tuple[str, int] | None) -> paramiko.Channel:
        import paramiko

        source = ("127.0.0.1", 0) if destination else None
        try:
            return self._transport.open_channel(kind, destination, source, timeout=timeout)
        except paramiko.ChannelException as error:
            what = f"port {destination[1]} behind SSH" if destination else f"a {kind}"
            raise SshError(f"{what} was refused: {error.text}", reason="refused", where=self.target.name) from error
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise SshError(f"the connection is gone: {error}", reason="closed", where=self.target.name) from error


def connect(target: SshTarget, timeout: float = 15.0) -> SshSession:
    """Log in. timeout: seconds for each of TCP, key exchange and authentication.

    Raises SshError whose reason is `refused`, `timeout`, `unreachable`, `host_key`, `auth`, `protocol` or `closed`;
    RefusedError when the private key cannot be used.
    """
    from deployer.access.handshake import authenticate, dial

    if not target.host_keys:
        raise SshError(
            "no host key of the instance is known yet, so it cannot be told from an impostor",
            reason="host_key",
            where=target.name,
            hint="the instance prints its host keys on its console while it boots: try again in a minute",
        )
    if target.bastion is None:
        return SshSession(target, authenticate(target, dial(target, timeout), timeout))
    through = _connect_bastion(target, target.bastion, timeout)
    try:
        stream = through.open_stream(target.port, host=target.host, timeout=timeout)
        return SshSession(target, authenticate(target, stream, timeout), through)
    except BaseException:
        through.close()
        raise


def _connect_bastion(target: SshTarget, bastion: str, timeout: float) -> SshSession:
    from deployer.access.handshake import authenticate, dial, server_key

    user, host, port = parse_bastion(bastion)
    pins = BastionPins(target.bastion_pins)
    known = pins.keys(host, port)
    jump = replace(target, host=host, port=port, user=user, host_keys=known, bastion=None)
    transport = authenticate(jump, dial(jump, timeout), timeout)
    if not known:
        pins.remember(host, port, server_key(transport))
    return SshSession(jump, transport)


def _drain_both(channel: paramiko.Channel) -> tuple[bytes, bytes]:
    """Read both streams to their ends at once, so that neither fills up and blocks the other."""
    errors: list[bytes] = []

    def drain_stderr() -> None:
        with contextlib.suppress(TimeoutError):
            errors.append(_drain(channel.recv_stderr))

    thread = threading.Thread(target=drain_stderr, daemon=True)
    thread.start()
    output = _drain(channel.recv)
    thread.join()
    return output, b"".join(errors)


def _drain(read: Callable[[int], bytes]) -> bytes:
    parts = []
    while chunk := read(65536):
        parts.append(chunk)
    return b"".join(parts)
