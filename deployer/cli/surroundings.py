"""What the process was given: streams that may be closed or speak a narrow encoding, and signals that mean Ctrl-C."""

from __future__ import annotations

import io
import os
import signal
import sys
from types import FrameType


def open_streams() -> None:
    """Make the streams usable: closed ones lead nowhere, and what an encoding lacks is replaced."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123 — lives as long as the process
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def flush_streams() -> None:
    """Write what is left; a reader that has gone or a full disk was met before, by the view."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue


def treat_as_ctrl_c() -> None:
    """SIGTERM and SIGHUP do what Ctrl-C does, so that `kill` and a closed terminal leave a stack as orderly."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        # `nohup` has asked for SIGHUP to be ignored.
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)


def _interrupt(_number: int, frame: FrameType | None) -> None:
    handler = signal.getsignal(signal.SIGINT)
    if callable(handler):
        handler(signal.SIGINT, frame)
    else:
        # A shell starts background jobs with Ctrl-C ignored; these signals still mean to stop.
        raise KeyboardInterrupt
