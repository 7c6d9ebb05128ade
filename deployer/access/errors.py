"""What goes wrong between this machine and the instance's SSH server."""

from __future__ import annotations

from typing import Literal

from deployer.errors import NotHealthyError

SshReason = Literal["refused", "timeout", "unreachable", "auth", "host_key", "protocol", "closed"]


class SshError(NotHealthyError):
    """SSH to the instance failed. reason: which of the few ways; see `passing`."""

    code = "ssh"

    def __init__(self, message: str, *, reason: SshReason, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, where=where, hint=hint)
        self.reason = reason

    @property
    def passing(self) -> bool:
        """True when the same call may work a moment later, as while an instance boots."""
        return self.reason in ("refused", "timeout", "unreachable", "closed")
