"""The logs of a stack on this machine: files in its folder."""

from __future__ import annotations

from deployer.access.files import LocalFile
from deployer.errors import RefusedError
from deployer.targets.local_state import StackFolder
from deployer.targets.logs import Logs

_POLL_SECONDS = 0.5


def logs_of(folder: StackFolder) -> Logs:
    """Raises RefusedError when there is no such stack. An agent that died before any phase left its own output."""
    if not folder.path.exists():
        raise RefusedError(
            f"there is no stack {folder.name} on this machine",
            where=str(folder.path),
            hint="deployer ls shows what is",
        )
    return Logs(
        machine=f"stack {folder.name}",
        console=lambda: folder.console_text() or "".join(f"{line}\n" for line in folder.log_tail()),
        open_engine=lambda: LocalFile(folder.engine_log),
        api_key=folder.ensure_api_key() if folder.api_key_file.exists() else None,
        poll_seconds=_POLL_SECONDS,
    )
