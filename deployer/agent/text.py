"""Text that is safe to show: last log lines without control characters, of bounded length."""

from __future__ import annotations

import os
import re

#: How much of a log's end is read at most (bytes), whatever its size.
TAIL_BYTES = 65536

_INVISIBLE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


def clean(text: str, limit: int = 200) -> str:
    """One line without control characters, cut to `limit` characters."""
    line = " ".join(_INVISIBLE.sub("", text).split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def read_tail(path: str, since: int = 0) -> list[str]:
    """The non-empty raw lines at the end of a file, from byte `since` on; [] when there is no such file."""
    try:
        with open(path, "rb") as stream:
            start = max(since, stream.seek(0, os.SEEK_END) - TAIL_BYTES)
            stream.seek(start)
            lines = stream.read(TAIL_BYTES).decode("utf-8", "replace").split("\n")
    except OSError:
        return []
    # Read from somewhere in the middle, the first line is only the end of one.
    return [line for line in lines[start > since :] if line.strip()]
