"""Where and as whom to log in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SshTarget:
    """Where to log in. host_keys: `type base64`, from the console; an empty tuple is refused.

    bastion: `user@host` or `user@host:port` to jump through, with the same private key.
    bastion_pins: the file that remembers a bastion's host key from its first use on; None remembers nothing.
    """

    host: str
    port: int
    user: str
    key_path: Path
    host_keys: tuple[str, ...]
    bastion: str | None = None
    bastion_pins: Path | None = None

    @property
    def name(self) -> str:
        """`user@host:port`, for messages."""
        return f"{self.user}@{self.host}:{self.port}"
