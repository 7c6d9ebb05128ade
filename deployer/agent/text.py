"""Text that is safe to show: last log lines without control characters, of bounded length."""

from __future__ import annotations

import os
import re

MAX_LINES = 20
MAX_CHARACTERS = 200
#: How much of a log's end is read at most, whatever its size.
TAIL_BYTES = 65536

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


def clean(text: str, limit: int = MAX_CHARACTERS) -> str:
    """One line without control characters, cut to `limit` characters."""
    line = _CONTROL.sub("", _ANSI.sub("", text)).replace("\t", " ").replace("\n", " ").strip()
    return line if len(line) <= limit else line[: limit - 3] + "..."


def read_tail(path: str, since: int = 0) -> list[str]:
    """The non-empty raw lines at the end of a file, from byte `since` on; [] when there is no such file."""
    try:
        with open(path, "rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            start = max(min(since, size), size - TAIL_BYTES)
            stream.seek(start)
            data = stream.read(TAIL_BYTES)
    except OSError:
        return []
    lines = data.decode("utf-8", "replace").split("\n")
    if start > since:
        # The first line was cut somewhere in its middle.
        lines = lines[1:]
    return [line for line in lines if line.strip()]


def last_lines(lines: list[str]) -> list[str]:
    """At most MAX_LINES lines for the console."""
    return [clean(line) for line in lines[-MAX_LINES:]]
