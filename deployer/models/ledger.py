"""The note a push keeps on this machine while it runs, so that the next one can go on after a kill.

It holds what S3 does not give back: the digest of every part read so far and the state of the whole file's digest.
Losing it is safe: the upload is then found in S3, and the source is read again to make the digest.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

_VERSION = 1


@dataclass(frozen=True)
class Fingerprint:
    """The state of a source. tag, sha256: None when nobody tells (a hub's listing may fail now and then)."""

    size: int
    tag: str | None
    sha256: str | None

    def same_as(self, other: Fingerprint) -> bool:
        """Nothing that both know differs; a digest counts more than a tag, which may differ between a hub's nodes."""
        if self.size != other.size:
            return False
        if self.sha256 is not None and other.sha256 is not None:
            return self.sha256 == other.sha256
        return None in (self.tag, other.tag) or self.tag == other.tag


@dataclass
class Note:
    """fingerprint: of the source; another one is another file. push: see digests.PUSH.

    digests: hex, of parts 1, 2, ...; state: see digest.continued, it covers exactly these parts.
    """

    bucket: str
    key: str
    upload_id: str
    push: str
    part_bytes: int
    fingerprint: Fingerprint
    digests: list[str] = field(default_factory=list)
    state: str | None = None
    v: int = _VERSION


class Ledger:
    """The note of one object. home: settings.home."""

    def __init__(self, home: Path, bucket: str, key: str) -> None:
        name = hashlib.sha256(f"{bucket}/{key}".encode()).hexdigest()[:24]
        self._path = home / "pushes" / f"{name}.json"
        self._bucket, self._key = bucket, key

    def read(self) -> Note | None:
        """The note, or None when there is none that can be used."""
        try:
            fields = json.loads(self._path.read_text(encoding="utf-8"))
            note = Note(**(fields | {"fingerprint": Fingerprint(**fields["fingerprint"])}))
        except (OSError, ValueError, TypeError, KeyError):
            return None
        ours = (note.v, note.bucket, note.key) == (_VERSION, self._bucket, self._key)
        return note if ours and note.part_bytes > 0 else None

    def write(self, note: Note) -> None:
        """Replace the note in one step, so that a kill leaves the old or the new one."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_suffix(f".{os.getpid()}.part")
        draft.write_text(json.dumps(asdict(note)), encoding="utf-8")
        draft.replace(self._path)

    def forget(self) -> None:
        """The push is over."""
        self._path.unlink(missing_ok=True)
