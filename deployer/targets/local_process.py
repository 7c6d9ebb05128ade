"""Background processes that outlive the command: started in a session of their own, found again, ended for good."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deployer.agent.processes import start_mark
from deployer.clock import Clock

_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class ProcessId:
    """A pid with its start mark: together they never mean another process, however pids are reused."""

    pid: int
    start: str

    @property
    def alive(self) -> bool:
        """Does this very process still run (a zombie does not)?"""
        return start_mark(self.pid) == self.start


def identify(pid: int | None, start: str | None) -> ProcessId | None:
    """A process that was written down, None unless it still runs."""
    if pid is None or start is None:
        return None
    process = ProcessId(pid, start)
    return process if process.alive else None


def spawn(argv: Sequence[str], *, log: Path, cwd: Path, environ: Mapping[str, str]) -> ProcessId:
    """Start a process that no terminal or parent takes down. stdout and stderr go to `log`, which starts empty.

    Raises OSError when the program cannot be run.
    """
    with log.open("wb") as output:
        child = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=cwd, env=environ, start_new_session=True
        )
    start = start_mark(child.pid)
    # An end right after the start leaves no mark; the empty one matches no process.
    return ProcessId(child.pid, start or "")


def find(*words: str) -> list[ProcessId]:
    """Processes that lead a session and whose command line has these words in a row: what was never written down.

    All of ours lead one; a process that was just forked from one of them shows the same command line for a moment.
    """
    found = [ProcessId(pid, start_mark(pid) or "") for pid in _pids_with(words) if _leads_session(pid)]
    return [process for process in found if process.start]


def end(process: ProcessId, clock: Clock, *, grace_seconds: float) -> bool:
    """SIGTERM, then after grace_seconds SIGKILL for its whole group. True when it is gone."""
    _signal(process, signal.SIGTERM, group=False)
    if _gone_within(process, clock, grace_seconds):
        return True
    _signal(process, signal.SIGKILL, group=True)
    return _gone_within(process, clock, 5.0)


def _gone_within(process: ProcessId, clock: Clock, seconds: float) -> bool:
    deadline = clock.monotonic() + seconds
    while process.alive:
        if clock.monotonic() >= deadline:
            return False
        clock.sleep(_POLL_SECONDS)
    return True


def _signal(process: ProcessId, number: int, *, group: bool) -> None:
    if not process.alive:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if group and os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, number)
        else:
            os.kill(process.pid, number)


def _leads_session(pid: int) -> bool:
    try:
        return os.getsid(pid) == pid and pid != os.getpid()
    except OSError:
        return False


def _pids_with(words: Sequence[str]) -> list[int]:
    proc = Path("/proc")
    if not (proc / "self/cmdline").exists():
        answer = subprocess.run(["ps", "-axww", "-o", "pid=,command="], capture_output=True, text=True, check=False)
        return [int(line.split()[0]) for line in answer.stdout.splitlines() if " ".join(words) in line]
    row = "\0".join(["", *words, ""]).encode()
    pids = []
    for entry in proc.iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if row in b"\0" + (entry / "cmdline").read_bytes():
                    pids.append(int(entry.name))
    return pids
