"""A request to stop that every thread can wait on and that a signal handler may raise at any moment."""

from __future__ import annotations

import os
import select
import signal
from typing import Any


class Stopped(Exception):
    """Raised out of whatever was being done when the agent was asked to stop."""


class Stop:
    """A latch over a pipe: a signal handler may not take a lock (threading.Event does), but it may write a byte."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        self._asked = False

    @property
    def asked(self) -> bool:
        """Has somebody asked for the end?"""
        return self._asked

    def ask(self, *_signal: Any) -> None:
        """Ask for the end; wakes every waiter. Safe in a signal handler."""
        if not self._asked:
            self._asked = True
            os.write(self._write, b"x")

    def on_signals(self) -> None:
        """Let SIGTERM and SIGINT ask for the end. Main thread only."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.ask)

    def wait(self, seconds: float) -> bool:
        """Wait that long or until asked; True when asked."""
        # The byte stays in the pipe, so every other waiter sees it too.
        return bool(select.select([self._read], [], [], max(0.0, seconds))[0])

    def check(self) -> None:
        """Raises Stopped when asked."""
        if self._asked:
            raise Stopped

    def pause(self, seconds: float) -> None:
        """Wait that long; raises Stopped when asked meanwhile."""
        if self.wait(seconds):
            raise Stopped
