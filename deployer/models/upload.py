"""Which upload a push goes on with: the one it noted, one that lies in S3, or a new one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from deployer.aws.s3 import S3
from deployer.models import digest as sha256
from deployer.models.destination import Destination
from deployer.models.digest import Digest
from deployer.models.ledger import Fingerprint, Ledger, Note
from deployer.models.parts import Job, Part, StoredPart, jobs, part_bytes, split


@dataclass(frozen=True)
class Upload:
    """jobs: what is left. stored: parts that need nothing more. digest: of the whole file, as far as it is.

    reread_bytes: of parts that S3 has and that must be read again all the same, with the reason in `why`.
    """

    note: Note
    parts: tuple[Part, ...]
    jobs: tuple[Job, ...]
    stored: Mapping[int, StoredPart]
    digest: Digest
    why: str

    @property
    def there_bytes(self) -> int:
        """Of the parts that need nothing more."""
        return sum(part.length for part in self.stored.values())

    @property
    def reread_bytes(self) -> int:
        """See the class."""
        return sum(job.part.length for job in self.jobs if job.stored is not None)


def take_up(
    s3: S3,
    where: Destination,
    ledger: Ledger,
    source: Fingerprint,
    *,
    wanted_mib: int | None,
    begin: Callable[[int], Note],
) -> Upload:
    """Continue what is there, else `begin` with the bytes of a part. Raises UsageError for parts S3 does not take."""
    length = part_bytes(source.size, wanted_mib)
    note = ledger.read()
    why = ""
    if note is not None and not note.fingerprint.same_as(source):
        # Ours, and of a file that is no longer wanted: it would only cost money.
        s3.abort(where.bucket, where.key, note.upload_id)
        ledger.forget()
        note, why = None, "the source changed since the last time: everything is sent again"
    stored = s3.parts(where.bucket, where.key, note.upload_id) if note is not None else None
    if note is not None and stored is not None:
        return _planned(note, source.size, stored, "what arrived before is kept")
    if not why:
        found = _somewhere_else(s3, where, source)
        if found is not None:
            ledger.write(found[0])
            return _planned(found[0], source.size, found[1], "an upload begun elsewhere is continued")
    note = begin(length)
    ledger.write(note)
    return _planned(note, source.size, {}, why)


def _somewhere_else(s3: S3, where: Destination, source: Fingerprint) -> tuple[Note, dict[int, StoredPart]] | None:
    """The newest upload of this key with parts whose digests S3 tells: only these can be compared with the source."""
    for upload in s3.uploads(where.bucket, where.key):
        stored = s3.parts(where.bucket, where.key, upload.upload_id) or {}
        first = stored.get(1)
        if first is not None and all(part.sha256 is not None for part in stored.values()):
            note = Note(where.bucket, where.key, upload.upload_id, "", first.length, source)
            return note, stored
    return None


def _planned(note: Note, size: int, stored: dict[int, StoredPart], why: str) -> Upload:
    parts = split(size, note.part_bytes)
    going_on = sha256.continued(note.state)
    hashed = len(note.digests) if going_on is not None else 0
    left = jobs(parts, stored, note.digests, hashed=hashed)
    to_do = {job.part.number for job in left}
    if any(job.stored is not None for job in left):
        why += ", but its bytes are read again: their digest was not kept on this machine"
    done = {
        part.number: StoredPart(part.number, part.length, stored[part.number].etag, note.digests[part.number - 1])
        for part in parts
        if part.number not in to_do
    }
    return Upload(note, parts, left, done, going_on or sha256.new(), why)
