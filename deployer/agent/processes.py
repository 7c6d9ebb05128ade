"""Processes of our own: which is alive under a pid, and how one and its children are ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from typing import Callable

from .part import read_json, remove, write_json

#: llama-server answers an idle SIGTERM in 0.1 s, ends at once at a second one, and never ends while a plain request is
#: in flight (llama.cpp b11549, measured).
GRACE_SECONDS = 5.0
SECOND_GRACE_SECONDS = 3.0
_POLL_SECONDS = 0.05


def start_mark(pid: int) -> str | None:
    """Something that tells this process from a later one with the same pid; None when no such process lives."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as stream:
            fields = stream.read().rsplit(")", 1)[1].split()
        return None if fields[0] in "ZX" else fields[19]
    except OSError:
        if os.path.isdir("/proc/self"):
            return None
    # No /proc (macOS).
    answer = subprocess.run(["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    state, _, began = answer.stdout.strip().partition(" ")
    return None if not state or state.startswith("Z") else " ".join(began.split())


def remember(path: str, pid: int) -> None:
    """Write the pid file of a process that was just started."""
    write_json(path, {"pid": pid, "start": start_mark(pid)})


def end_leftover(path: str) -> int | None:
    """End the process of a pid file if it is still that process; its pid if there was one."""
    body = read_json(path)
    pid, mark = body.get("pid"), body.get("start")
    if not isinstance(pid, int) or mark is None or start_mark(pid) != mark:
        remove(path)
        return None
    end_group(pid, lambda: start_mark(pid) != mark)
    remove(path)
    return pid


def end_group(pid: int, ended: Callable[[], bool]) -> None:
    """SIGTERM, after 5 s again, after 3 s SIGKILL, to the group that `pid` leads. ended: is it gone?"""
    for number, seconds in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGTERM, SECOND_GRACE_SECONDS)):
        _signal_group(pid, number)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if ended():
                _signal_group(pid, signal.SIGKILL)
                return
            time.sleep(_POLL_SECONDS)
    _signal_group(pid, signal.SIGKILL)


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)
