"""Host keys of bastions: trusted on first use and remembered in a file of ours.

The instance's own key is always pinned from its console and checked end to end through the bastion, so a false bastion
can cut or delay a session but not read or change it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from deployer.errors import UsageError

_BASTION = re.compile(r"(?P<user>[^@]+)@(?P<host>[^:@]+)(?::(?P<port>[0-9]{1,5}))?")


def parse_bastion(text: str) -> tuple[str, str, int]:
    """`user@host` or `user@host:port` as (user, host, port), port 22 when left out. Raises UsageError."""
    match = _BASTION.fullmatch(text)
    if match is None or not 0 < int(match["port"] or 22) < 65536:
        raise UsageError(f"bastion {text!r} is not of the form user@host or user@host:port")
    return match["user"], match["host"], int(match["port"] or 22)


@dataclass(frozen=True)
class BastionPins:
    """One line for each key: `host:port type base64`. path None remembers nothing."""

    path: Path | None

    def keys(self, host: str, port: int) -> tuple[str, ...]:
        """The remembered keys of that bastion, empty before its first use."""
        if self.path is None or not self.path.exists():
            return ()
        lines = (line.split(" ", 1) for line in self.path.read_text().splitlines())
        return tuple(rest for name, rest in lines if name == f"{host}:{port}")

    def remember(self, host: str, port: int, key: str) -> None:
        """Add one key; the file is the operator's alone."""
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{host}:{port} {key}\n")
