"""Processes by pid and start time: a pid alone may by now belong to somebody else."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from deployer.clock import Clock


@dataclass(frozen=True)
class ProcessId:
    """started: the kernel's start time as opaque text, the same for as long as the process lives."""

    pid: int
    started: str

    @staticmethod
    def of(pid: int) -> ProcessId | None:
        """The process that has this pid now, None when there is none (a zombie counts as none)."""
        started = _start_time(pid)
        return None if started is None else ProcessId(pid, started)

    def alive(self) -> bool:
        """Whether this very process still runs."""
        return _start_time(self.pid) == self.started

    def signal(self, number: signal.Signals) -> None:
        """Send a signal if it still runs."""
        if self.alive():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, number)

    def wait_gone(self, clock: Clock, seconds: float) -> bool:
        """Wait until it has ended, at most that long; whether it has."""
        deadline = clock.monotonic() + seconds
        while self.alive():
            if clock.monotonic() >= deadline:
                return False
            clock.sleep(0.02)
        return True


def _start_time(pid: int) -> str | None:
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            # The name in parentheses may hold spaces; after it come the state (field 3) and the start time (field 22).
            fields = stat.read_text().rpartition(")")[2].split()
        except (OSError, UnicodeDecodeError):
            return None
        return None if fields[0] in "ZX" else fields[19]
    done = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    state, _, started = done.stdout.strip().partition(" ")
    return None if not started or state.startswith("Z") else started.strip()
