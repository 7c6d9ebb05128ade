"""A download that was begun: FILE.part beside FILE.part.json, which says of what it is a part."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from typing import Any

from .stop import Stop

_CHUNK = 1 << 20


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
    """What is already here of one URL. offset: bytes; digest: sha256 of exactly those bytes."""

    def __init__(self, path: str, url: str, stop: Stop) -> None:
        self.path = path
        self._url = url
        self._meta_path = path + ".json"
        meta = read_json(self._meta_path)
        # Bytes of another URL or of an unknown whole would be spliced into a file that never existed.
        self.meta = meta if meta.get("url") == url and meta.get("total") else {}
        self.offset = 0
        self.digest = hashlib.sha256()
        self._file = open(path, "a+b", buffering=0)  # noqa: SIM115 - closed by close()
        if self.meta and os.fstat(self._file.fileno()).st_size <= self.meta["total"]:
            self._count(stop)
        else:
            self.restart()

    def _count(self, stop: Stop) -> None:
        self._file.seek(0)
        while True:
            chunk = self._file.read(_CHUNK)
            if not chunk:
                return
            self.digest.update(chunk)
            self.offset += len(chunk)
            stop.check()

    @property
    def total(self) -> int | None:
        """Size of the whole in bytes, when the server said it."""
        return self.meta.get("total")

    @property
    def complete(self) -> bool:
        """Is every byte here?"""
        return self.total is not None and self.offset == self.total

    def describe(self, total: int | None, etag: str | None, modified: str | None) -> None:
        """Write down what the bytes to come are a part of."""
        meta = {"url": self._url, "total": total, "etag": etag, "modified": modified}
        if meta != self.meta:
            write_json(self._meta_path, meta)
            self.meta = meta

    def restart(self) -> None:
        """Forget the bytes."""
        self._file.truncate(0)
        self.offset = 0
        self.digest = hashlib.sha256()
        self.meta = {}

    def append(self, data: bytes) -> None:
        """Add bytes at the end."""
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]
        self.digest.update(data)
        self.offset += len(data)

    def begins_with(self, magic: bytes) -> bool:
        """Does the file start with these bytes?"""
        self._file.seek(0)
        return self._file.read(len(magic)) == magic

    def finish(self, path: str) -> None:
        """Every byte on the disk, then the final name."""
        os.fsync(self._file.fileno())
        os.replace(self.path, path)
        remove(self._meta_path)

    def discard(self) -> None:
        """Delete it."""
        remove(self.path)
        remove(self._meta_path)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
