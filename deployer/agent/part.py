"""A download that was begun: FILE.part with two sidecars, one that says of what it is a part, one what is here of it.

A large file is fetched in pieces by several connections. What is here of each piece is written down after its bytes, so
a killed agent finds every byte again; after a crash of the machine only what had reached the disk counts.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import threading
from typing import Any

from .hasher import Hasher

#: A file of fewer pieces comes as one.
PIECES_AT_LEAST = 4
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
#: Of the ledger: the machine's boot (16 bytes), bytes that came over the wire; then for each piece written and synced.
_HEAD, _ENTRY = struct.Struct("<16sQ"), struct.Struct("<QQ")


def read_json(path: str) -> dict[str, Any]:
    """The object in a file; {} when it is missing, cut or not an object."""
    try:
        with open(path, encoding="utf-8") as stream:
            body = json.load(stream)
    except (OSError, ValueError):
        return {}
    return body if isinstance(body, dict) else {}


def write_json(path: str, body: dict[str, Any]) -> None:
    """Replace a file atomically."""
    with open(path + ".new", "w", encoding="utf-8") as stream:
        json.dump(body, stream)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(path + ".new", path)


def remove(path: str) -> None:
    """Delete a file that may be missing."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


class Part:
    """What is already here of one URL. piece_bytes: size of the pieces of a file that is much larger than that."""

    def __init__(self, path: str, url: str, piece_bytes: int) -> None:
        self.path = path
        self._url = url
        self.piece_bytes = piece_bytes
        self._lock = threading.Lock()
        self._claimed: set[int] = set()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        self._ledger = os.open(path + ".have", os.O_RDWR | os.O_CREAT, 0o644)
        meta = read_json(path + ".json")
        # Bytes of another URL or of an unknown whole would be spliced into a file that never existed.
        self.meta = meta if meta.get("url") == url and meta.get("total") else {}
        #: Bytes that came over the wire for this file, also in earlier runs.
        self.wire = 0
        #: Bytes here of each piece, from its start.
        self._have = [0]
        self._synced = [0]
        self._here = 0
        #: Pieces from the start that are complete.
        self._front = 0
        #: The last byte of a file of unknown length has come.
        self.ended = False
        self._load()
        self._hasher = Hasher(self._file, self._contiguous)

    def _load(self) -> None:
        size = os.fstat(self._file).st_size
        ledger = os.pread(self._ledger, 1 << 26, 0)
        boot = b""
        if self.meta and len(ledger) >= _HEAD.size:
            boot, self.wire = _HEAD.unpack_from(ledger)
        if not self.meta or size > self.meta["total"]:
            self.restart()
            return
        if self.piece:
            count = -(-self.meta["total"] // self.piece)
            rows = ledger[_HEAD.size : _HEAD.size + count * _ENTRY.size]
            entries = list(_ENTRY.iter_unpack(rows[: len(rows) // _ENTRY.size * _ENTRY.size]))
            entries += [(0, 0)] * (count - len(entries))
            self._have = [entry[boot != _boot()] for entry in entries]
        else:
            self._have = [size]
        self._synced = list(self._have)
        self._here = sum(self._have)
        # An old sidecar does not tell.
        self.wire = max(self.wire, self.offset)
        self._write_ledger()

    def _write_ledger(self) -> None:
        rows = b"".join(map(_ENTRY.pack, self._have, self._synced))
        os.pwrite(self._ledger, _HEAD.pack(_boot(), self.wire) + rows, 0)

    @property
    def piece(self) -> int:
        """Bytes of a piece; 0 for a file that comes as one."""
        return int(self.meta.get("piece") or 0)

    @property
    def offset(self) -> int:
        """Bytes here."""
        return self._here

    @property
    def total(self) -> int | None:
        """Size of the whole in bytes, when the server said it."""
        return self.meta.get("total")

    @property
    def complete(self) -> bool:
        """Is every byte here?"""
        return self.ended if self.total is None else self.offset == self.total

    def describe(self, total: int | None, etag: str | None, modified: str | None, ranges: bool) -> None:
        """Write down what the bytes to come are a part of. ranges: the server can serve pieces of it."""
        meta: dict[str, Any] = {"url": self._url, "total": total, "etag": etag, "modified": modified}
        if any(self.meta.get(name) != value for name, value in meta.items()):
            fresh = not self._here
            large = ranges and total is not None and total > PIECES_AT_LEAST * self.piece_bytes
            # What is here already stays as it lies.
            piece = (self.piece_bytes if large else 0) if fresh else self.piece
            if piece:
                meta["piece"] = piece
            # Before the name says so: pieces without a ledger would count as nothing here.
            with self._lock:
                self.meta = meta
                if fresh and self.piece and total:
                    self._have = [0] * -(-total // self.piece)
                    self._synced = list(self._have)
                self._write_ledger()
            write_json(self.path + ".json", meta)

    def claim(self, wanted: int | None = None) -> int | None:
        """A piece that nobody fetches, the first one or the wanted one; None when there is none."""
        with self._lock:
            for index in range(self._front, len(self._have)) if wanted is None else [wanted]:
                if index < len(self._have) and index not in self._claimed and self._left(index) != 0:
                    self._claimed.add(index)
                    return index
            return None

    def release(self, index: int) -> None:
        """Its claimer is done with it, finished or not."""
        with self._lock:
            self._claimed.discard(index)

    def _left(self, index: int) -> int | None:
        if self.total is None:
            return 0 if self.ended else None
        size = min(self.piece, self.total - index * self.piece) if self.piece else self.total
        return size - self._have[index]

    def span(self, index: int) -> tuple[int, int | None]:
        """(first missing byte, byte after the last one) of a piece; None: to the end of the file."""
        with self._lock:
            first = index * self.piece + self._have[index]
            return first, min(first + (self._left(index) or 0), self.total or 0) if self.piece else None

    def is_done(self, index: int) -> bool:
        """Is every byte of the piece here?"""
        with self._lock:
            return self._left(index) == 0

    def count(self, size: int) -> None:
        """So many bytes came. Said before they are stored: what a kill loses in between counts as fetched."""
        with self._lock:
            self.wire += size
            os.pwrite(self._ledger, struct.pack("<Q", self.wire), 16)

    def room(self, index: int, most: int) -> int:
        """How many bytes to read for a piece, at most so many: none that it cannot take."""
        with self._lock:
            left = self._left(index)
        return most if left is None else min(most, max(1, left))

    def append(self, index: int, data: bytes) -> None:
        """Add bytes to a piece, by its claimer; what is too much is left out."""
        with self._lock:
            left, first = self._left(index), index * self.piece + self._have[index]
        view = memoryview(data)[:left]
        done = 0
        while done < len(view):
            done += os.pwrite(self._file, view[done:], first + done)
        with self._lock:
            self._have[index] += done
            self._here += done
            if self.piece:
                os.pwrite(self._ledger, struct.pack("<Q", self._have[index]), _HEAD.size + index * _ENTRY.size)
        self._hasher.wake()

    def sync(self) -> None:
        """Bring to the disk what is written, and write down that it is there."""
        with self._lock:
            reached = list(self._have)
        os.fsync(self._file)
        with self._lock:
            if len(reached) == len(self._synced):
                self._synced = list(map(min, reached, self._have))
                self._write_ledger()

    def _contiguous(self) -> int:
        """Bytes from the start without a gap."""
        with self._lock:
            while self._front < len(self._have) - 1 and self._left(self._front) == 0:
                self._front += 1
            return self._front * self.piece + self._have[self._front]

    def restart(self) -> None:
        """Forget the bytes."""
        with self._lock:
            os.ftruncate(self._file, 0)
            os.ftruncate(self._ledger, 0)
            self._have, self._synced, self._here, self._front = [0], [0], 0, 0
            self.meta, self.ended = {}, False
            self._write_ledger()
        if hasattr(self, "_hasher"):
            self._hasher.restart()

    def hexdigest(self) -> str:
        """sha256 of every byte here; waits for the rest of them to be read."""
        return self._hasher.finish()

    def begins_with(self, magic: bytes) -> bool:
        """Does the file start with these bytes?"""
        return os.pread(self._file, len(magic), 0) == magic

    def finish(self, path: str) -> None:
        """Every byte on the disk, then the final name."""
        os.fsync(self._file)
        os.replace(self.path, path)
        self._remove_sidecars()

    def discard(self) -> None:
        """Delete it."""
        remove(self.path)
        self._remove_sidecars()

    def _remove_sidecars(self) -> None:
        remove(self.path + ".json")
        remove(self.path + ".have")

    def close(self) -> None:
        """Let go of the files."""
        self._hasher.close()
        os.close(self._file)
        os.close(self._ledger)


def _boot() -> bytes:
    """Which boot of the machine this is; the same for ever where nobody tells."""
    try:
        with open(_BOOT_ID, encoding="ascii") as stream:
            return bytes.fromhex(stream.read().strip().replace("-", ""))
    except (OSError, ValueError):
        return bytes(16)
