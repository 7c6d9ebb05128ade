"""Finds and ends the processes of a process machine, whoever started them and whatever became of their parents.

A machine has no cgroup. Instead each of its processes carries one environment variable, SCOPE, which children inherit.
It survives a crash of the process that booted the machine, and a reused process id does not have it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event

from deployer.clock import SystemClock

#: `<machine's folder>/<unit or session>`.
SCOPE = "DEPLOYER_MACHINE_SCOPE"

# Real processes take real time, whatever the cloud's clock shows.
_now = SystemClock().monotonic
#: How often a wait for the end of processes looks again, and how long SIGKILL may take, seconds.
_POLL, _KILL_PATIENCE = 0.01, 10.0


def members(scope: str) -> list[int]:
    """Process ids whose scope is `scope` or lies below it. Zombies do not count."""
    return [pid for pid in _candidates(scope) if pid != os.getpid()]


def send(scope: str, number: int) -> None:
    """Send a signal to every member of a scope."""
    for pid in members(scope):
        _send_if(pid, number, lambda pid=pid: pid in _candidates(scope, only=pid))  # type: ignore[misc]


def end(scope: str, *, patience: float) -> None:
    """SIGTERM every member, wait up to `patience` seconds for all to end, then SIGKILL."""
    if members(scope):
        send(scope, signal.SIGTERM)
        _wait_until_empty(scope, patience)
    kill(scope)


def kill(scope: str) -> None:
    """SIGKILL every member until none is left, those that appear meanwhile too."""
    deadline = _now() + _KILL_PATIENCE
    while members(scope) and _now() < deadline:
        send(scope, signal.SIGKILL)
        _wait_until_empty(scope, 0.1)


def _wait_until_empty(scope: str, patience: float) -> None:
    deadline = _now() + patience
    pause = Event()
    while members(scope) and _now() < deadline:
        pause.wait(_POLL)


def _candidates(scope: str, only: int | None = None) -> list[int]:
    if sys.platform == "linux":
        return _from_proc(f"{SCOPE}={scope}".encode(), only)
    return _from_ps(f"{SCOPE}={scope}", only)


def _from_proc(mark: bytes, only: int | None) -> list[int]:
    names = [str(only)] if only is not None else [path.name for path in Path("/proc").iterdir() if path.name.isdigit()]
    found = []
    for name in names:
        try:
            environment = Path("/proc", name, "environ").read_bytes()
        except OSError:
            continue  # ended meanwhile, or another user's
        if any(entry == mark or entry.startswith(mark + b"/") for entry in environment.split(b"\0")):
            found.append(int(name))
    return found


def _from_ps(mark: str, only: int | None) -> list[int]:
    """BSD's ps shows the environment behind the command with -E."""
    listing = subprocess.run(["ps", "-axEwwo", "pid=,command="], capture_output=True, text=True, check=False).stdout
    found = []
    for line in listing.splitlines():
        pid, _, rest = line.strip().partition(" ")
        words = rest.split(" ")
        if any(word == mark or word.startswith(mark + "/") for word in words) and only in (None, int(pid)):
            found.append(int(pid))
    return found


def _send_if(pid: int, number: int, still_ours: Callable[[], bool]) -> None:
    """Signal pid if it is still ours; where the system can, so that a reused id cannot slip in between."""
    if not hasattr(os, "pidfd_open"):
        if still_ours():
            _quietly(lambda: os.kill(pid, number))
        return
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return
    try:
        if still_ours():
            _quietly(lambda: signal.pidfd_send_signal(handle, number))
    finally:
        os.close(handle)


def _quietly(action: Callable[[], None]) -> None:
    try:
        action()
    except ProcessLookupError:
        return
