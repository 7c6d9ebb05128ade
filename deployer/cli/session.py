"""What every command starts with: a view on stdout, and for `up` and `down` what Ctrl-C should say."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from deployer.errors import InterruptedByUser
from deployer.views.base import View, choose
from deployer.views.enduring import EnduringView


def open_view(*, as_json: bool) -> View:
    """The view for stdout as it is now: JSON lines, a live terminal, or plain lines."""
    return EnduringView(choose(sys.stdout, os.environ, as_json=as_json))


@contextmanager
def interruptible(message: str, hint: str) -> Iterator[None]:
    """Turn Ctrl-C inside the block into an InterruptedByUser (exit 130) that says how to go on."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise InterruptedByUser(message, hint=hint) from stop
