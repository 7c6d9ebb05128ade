"""A file that others append to, read by byte offset, so that a reader can go on where an earlier one stopped."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Piece:
    """data: the bytes from offset `start` on; empty at the file's end."""

    start: int
    data: bytes

    @property
    def end(self) -> int:
        """Where the next piece begins."""
        return self.start + len(self.data)


class GrowingFile(Protocol):
    """read: at most `limit` bytes from `start` on, a negative start counting from the file's end.

    A start behind the end means that the file was begun anew, and reads it from its beginning. None: there is no file.
    """

    def read(self, start: int, limit: int) -> Piece | None: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class LocalFile:
    """A GrowingFile on this machine."""

    path: Path

    def read(self, start: int, limit: int) -> Piece | None:
        try:
            with self.path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                begin = max(size + start, 0) if start < 0 else start
                begin = 0 if begin > size else begin
                file.seek(begin)
                return Piece(begin, file.read(limit))
        except FileNotFoundError:
            return None

    def close(self) -> None:
        """Nothing is kept open."""
