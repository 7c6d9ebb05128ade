"""Waiting in tests: on a condition, with a deadline, never for a fixed time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


def until(condition: Callable[[], object], what: str, *, seconds: float = 10.0) -> None:
    """Return as soon as the condition holds; fail the test after `seconds`."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        pause.wait(0.01)
