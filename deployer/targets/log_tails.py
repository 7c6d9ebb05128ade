"""What is new in a text that grows: a console that is only ever a tail, a file that is read by offset. Pure."""

from __future__ import annotations

from typing import TypeVar

from deployer.access.files import GrowingFile

_Item = TypeVar("_Item")

#: Of the text that was seen, so much is looked for in the next one.
_ANCHOR = 2048
#: Bytes a read takes at most, and a first look back at least.
_READ_BYTES = 262_144
#: Bytes of a long log line; a first look back takes so much for each line that is wanted.
_LINE_BYTES = 512


class ConsoleTail:
    """Gives each whole line of the console once."""

    def __init__(self) -> None:
        self._seen = ""

    def take(self, text: str) -> list[str]:
        """The lines of `text` that no earlier call gave; all of them when nothing is known of it (a new boot)."""
        text = text.replace("\r\n", "\n")
        whole = text[: text.rfind("\n") + 1]
        fresh = whole
        if whole.startswith(self._seen):
            fresh = whole[len(self._seen) :]
        elif len(self._seen) >= _ANCHOR and (at := whole.rfind(self._seen[-_ANCHOR:])) >= 0:
            fresh = whole[at + _ANCHOR :]
        self._seen = whole
        return fresh.split("\n")[:-1]


class FileTail:
    """The last `lines` lines of a file, then each new whole line once, also through a file that was opened again."""

    def __init__(self, lines: int) -> None:
        self._lines = lines
        self._next: int | None = None
        self._rest = b""

    def take(self, file: GrowingFile) -> list[str] | None:
        """Whole lines that no earlier call gave; None when there is no file."""
        if self._next is not None:
            return self._new(file, self._next)
        back = max(_READ_BYTES, self._lines * _LINE_BYTES)
        piece = file.read(-back, back)
        if piece is None:
            self._next = 0
            return None
        self._next = piece.end
        *whole, self._rest = piece.data.split(b"\n")
        return last(_texts(whole[1:] if piece.start > 0 else whole), self._lines)

    def rest(self) -> list[str]:
        """The line that has no end yet, if there is one."""
        return [self._rest.decode(errors="replace")] if self._rest else []

    def _new(self, file: GrowingFile, start: int) -> list[str] | None:
        found: list[bytes] = []
        while (piece := file.read(start, _READ_BYTES)) is not None:
            # It was begun anew: what had no end will get none.
            rest = self._rest if piece.start == start else b""
            *whole, self._rest = (rest + piece.data).split(b"\n")
            found += whole
            start = self._next = piece.end
            if len(piece.data) < _READ_BYTES:
                return _texts(found)
        self._next, self._rest = 0, b""
        return _texts(found) if found else None


def last(items: list[_Item], count: int) -> list[_Item]:
    """The last `count` of them, also for 0."""
    return items[max(len(items) - count, 0) :]


def _texts(lines: list[bytes]) -> list[str]:
    return [line.decode(errors="replace") for line in lines]
