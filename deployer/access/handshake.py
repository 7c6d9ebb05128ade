"""From a TCP connection to an authenticated SSH transport: key exchange, host key check, then the user's key."""

from __future__ import annotations

import logging
import socket

import paramiko

from deployer.access.errors import SshError
from deployer.access.host_keys import fingerprint
from deployer.access.keys import public_key_of
from deployer.access.login import SshTarget

#: Seconds between keepalives: below the 60 s idle limit of common NAT gateways and firewalls.
KEEPALIVE_SECONDS = 15
#: Data unacknowledged for longer ends the connection (Linux), so that a vanished peer is noticed.
_DEAD_PEER_MS = 45_000

# paramiko logs handshake errors with a traceback; without any handler Python would print them on stderr.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


def dial(target: SshTarget, timeout: float) -> socket.socket:
    """A TCP connection to the SSH port. Raises SshError: refused, timeout, unreachable."""
    try:
        sock = socket.create_connection((target.host, target.port), timeout=timeout)
    except ConnectionRefusedError as error:
        raise SshError(
            "nothing listens on the SSH port",
            reason="refused",
            where=target.name,
            hint="the instance may still be booting; otherwise compare access.port with its sshd",
        ) from error
    except TimeoutError as error:
        raise SshError(
            f"no answer within {timeout:.0f} s",
            reason="timeout",
            where=target.name,
            hint="a security group that leaves your present address out drops packets silently: see access.allow",
        ) from error
    except OSError as error:
        raise SshError(f"cannot connect: {error.strerror or error}", reason="unreachable", where=target.name) from error
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _DEAD_PEER_MS)
    return sock


def authenticate(target: SshTarget, sock: socket.socket | paramiko.Channel, timeout: float) -> paramiko.Transport:
    """A transport that is logged in. The user's key is offered only to a server whose host key is right.

    target.host_keys empty accepts any host key; only bastions are called so. Closes `sock` on every error.
    Raises SshError (host_key, auth, timeout, protocol, closed), RefusedError for an unusable private key.
    """
    transport: paramiko.Transport | None = None
    try:
        public_key_of(target.key_path)  # says clearly what is wrong with the file
        key = paramiko.PKey.from_path(target.key_path)
        transport = _transport(sock, target, timeout)
        transport.start_client(timeout=timeout)
        _check_host_key(target, transport)
        transport.auth_publickey(target.user, key)
        transport.set_keepalive(KEEPALIVE_SECONDS)
    except BaseException as error:
        alive = transport is not None and transport.is_active()
        (transport or sock).close()
        if isinstance(error, paramiko.SSHException | OSError | EOFError):
            raise _explain(target, error, alive=alive, timeout=timeout) from error
        raise
    return transport


def server_key(transport: paramiko.Transport) -> str:
    """The host key the server showed, as `type base64`."""
    key = transport.get_remote_server_key()
    return f"{_plain_type(key.get_name())} {key.get_base64()}"


def _transport(sock: socket.socket | paramiko.Channel, target: SshTarget, timeout: float) -> paramiko.Transport:
    transport = paramiko.Transport(sock)
    transport.daemon = True
    transport.banner_timeout = transport.handshake_timeout = transport.auth_timeout = timeout
    # The server signs with the first type both sides know: ask for a pinned one, so that it can be compared.
    pinned = {key.split()[0] for key in target.host_keys}
    options = transport.get_security_options()
    options.key_types = tuple(sorted(options.key_types, key=lambda kind: _plain_type(kind) not in pinned))
    return transport


def _check_host_key(target: SshTarget, transport: paramiko.Transport) -> None:
    shown = server_key(transport)
    if not target.host_keys or shown in target.host_keys:
        return
    expected = ", ".join(f"{key.split()[0]} {fingerprint(key)}" for key in target.host_keys)
    raise SshError(
        f"the server shows host key {shown.split()[0]} {fingerprint(shown)}, expected {expected}",
        reason="host_key",
        where=target.name,
        hint="another machine answers on that address: do not log in before you know why",
    )


def _plain_type(algorithm: str) -> str:
    """RSA keys are `ssh-rsa` in key files, whatever hash they sign with."""
    return "ssh-rsa" if algorithm.startswith("rsa-sha2-") else algorithm


def _explain(target: SshTarget, error: Exception, *, alive: bool, timeout: float) -> SshError:
    if isinstance(error, paramiko.AuthenticationException):
        return SshError(
            f"the server does not accept the key {target.key_path} for user {target.user}",
            reason="auth",
            where=target.name,
            hint="compare access.user and access.key with the instance (a bastion gets the same key)",
        )
    if alive or isinstance(error, TimeoutError):
        return SshError(f"no SSH session within {timeout:.0f} s", reason="timeout", where=target.name)
    if "banner" in str(error):
        return SshError(
            "what listens there does not speak SSH",
            reason="protocol",
            where=target.name,
            hint="compare access.port with the instance's sshd",
        )
    return SshError(f"the SSH handshake broke: {error}", reason="closed", where=target.name)
