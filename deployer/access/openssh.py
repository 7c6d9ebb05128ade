"""The system's own `ssh` with exactly our login: our key, the pinned host keys, nothing of the user's configuration."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable
from pathlib import Path

from deployer.access.bastions import BastionPins, parse_bastion
from deployer.access.keys import public_key_of
from deployer.access.login import SshTarget
from deployer.access.ssh import connect

#: Seconds between keepalives, as in our own sessions (see handshake).
_ALIVE_SECONDS = 15

_PLAIN = re.compile(r"[\w@+=:,./-]+")


def prepare(target: SshTarget, known_hosts: Path) -> None:
    """Write the known_hosts file: the instance's keys and, with a bastion, the bastion's.

    A bastion that was never used is logged in to once, so that it is pinned as for every other command.
    Raises SshError, and RefusedError for an unusable private key.
    """
    public_key_of(target.key_path)
    lines = [f"{_pattern(target.host, target.port)} {key}\n" for key in target.host_keys]
    if target.bastion is not None:
        _, host, port = parse_bastion(target.bastion)
        pins = BastionPins(target.bastion_pins)
        if not pins.keys(host, port):
            connect(target).close()
        lines += [f"{_pattern(host, port)} {key}\n" for key in pins.keys(host, port)]
    _write(known_hosts, lines)


def command(target: SshTarget, known_hosts: Path, extra: Iterable[str] = ()) -> list[str]:
    """The ssh command line. extra: options or a remote command; ssh takes both after the destination, and of an
    option that is given twice the first counts."""
    return [
        "ssh",
        *_options(target.key_path, known_hosts),
        *_through(target, known_hosts),
        *("-p", str(target.port), f"{target.user}@{target.host}"),
        *extra,
    ]


def _options(key: Path, known_hosts: Path) -> list[str]:
    options = {
        "IdentityFile": _quoted(key),
        "IdentitiesOnly": "yes",
        "IdentityAgent": "none",
        "PreferredAuthentications": "publickey",
        "UserKnownHostsFile": _quoted(known_hosts),
        "GlobalKnownHostsFile": "/dev/null",
        "StrictHostKeyChecking": "yes",
        "UpdateHostKeys": "no",
        "ServerAliveInterval": str(_ALIVE_SECONDS),
    }
    return ["-F", "/dev/null", *(word for name, value in options.items() for word in ("-o", f"{name}={value}"))]


def _through(target: SshTarget, known_hosts: Path) -> list[str]:
    """ProxyJump as a ProxyCommand: the ssh that -J starts would get neither our key nor our pins."""
    if target.bastion is None:
        return []
    user, host, port = parse_bastion(target.bastion)
    before = shlex.join(["ssh", *_options(target.key_path, known_hosts), "-p", str(port), "-l", user])
    return ["-o", f"ProxyCommand={before.replace('%', '%%')} -W '[%h]:%p' -- {shlex.quote(host)}"]


def _quoted(path: Path) -> str:
    """A path as the value of an ssh option, where % starts a token and blanks separate files."""
    text = str(path.absolute()).replace("%", "%%")
    return text if _PLAIN.fullmatch(text) else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _pattern(host: str, port: int) -> str:
    return host if port == 22 else f"[{host}]:{port}"


def _write(path: Path, lines: list[str]) -> None:
    """In one step, for this user only: another login may be reading the old one."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.writelines(lines)
    scratch.replace(path)
