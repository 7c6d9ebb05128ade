"""The serial console of a process machine: a regular file that the machine and its programs append to."""

from __future__ import annotations

import threading
from pathlib import Path


class ConsoleFile:
    """The text stays readable after `keep`, when the file is gone."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._kept: bytes | None = None
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)

    def say(self, text: str) -> None:
        """Append lines; nothing once the file is gone."""
        with self._lock:
            if self._kept is None:
                with self._path.open("ab", buffering=0) as stream:
                    stream.write(text.rstrip("\n").encode() + b"\n")

    def read(self) -> bytes:
        """Everything said so far."""
        with self._lock:
            return self._path.read_bytes() if self._kept is None else self._kept

    def keep(self) -> None:
        """Take the text into memory before the file goes."""
        with self._lock:
            if self._kept is None:
                self._kept = self._path.read_bytes()
