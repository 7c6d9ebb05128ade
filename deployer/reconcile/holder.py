"""Who holds a lease, and whether that process still lives when it is one of this machine."""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import os
import secrets
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Holder:
    """nonce: random, one lease's own. machine: this machine, boot and process namespace, hashed.

    pid and start (the process's start time as the system tells it) name one process even when pids are reused.
    """

    user: str
    host: str
    pid: int
    start: str
    machine: str
    nonce: str

    def __str__(self) -> str:
        return f"{self.user}@{self.host} (process {self.pid})"


def this_process() -> Holder:
    """The holder that we are."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    pid = os.getpid()
    return Holder(
        user=user,
        host=socket.gethostname(),
        pid=pid,
        start=_start_of(pid) or "",
        machine=_machine(),
        nonce=secrets.token_hex(8),
    )


def is_dead(holder: Holder) -> bool:
    """True only when the holder was a process of this very machine and is gone. Anything else may still live."""
    if holder.machine != _machine() or not holder.start:
        return False
    return _start_of(holder.pid) != holder.start


def _machine() -> str:
    """Containers share boot ids and often machine ids, and cannot see each other's processes: hence the namespace."""
    parts = [socket.gethostname()]
    for path in ("/etc/machine-id", "/proc/sys/kernel/random/boot_id"):
        with contextlib.suppress(OSError):
            parts.append(Path(path).read_text().strip())
    with contextlib.suppress(OSError):
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _start_of(pid: int) -> str | None:
    """When the process started, as an opaque text; None when there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        if Path("/proc/self/stat").exists():
            return None
        return _start_by_ps(pid)
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in ("Z", "X") else fields[18]


def _start_by_ps(pid: int) -> str | None:
    """Where there is no /proc."""
    found = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return found.stdout.strip() or None
