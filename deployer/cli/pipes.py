"""Writing to a reader that may go away (`| head`), which is no error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import BinaryIO

#: What a shell shows for a program that SIGPIPE ended: 128 + 13.
SIGPIPE_STATUS = 141


class ReaderGone(Exception):
    """Nobody reads our output any more."""


def writer(stream: BinaryIO) -> Callable[[bytes], None]:
    """A function that writes to the stream at once. It raises ReaderGone."""

    def write(data: bytes) -> None:
        try:
            stream.write(data)
            stream.flush()
        except BrokenPipeError:
            raise ReaderGone from None

    return write


def drop_output() -> None:
    """Let what is still buffered for stdout go nowhere, so that Python's own flush at the end finds no broken pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
