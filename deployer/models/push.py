"""`model push`: from a source straight into S3, verified before the object exists."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from deployer.aws.s3 import S3, connect
from deployer.clock import Clock
from deployer.errors import DeployerError, InterruptedByUser
from deployer.events import Emit, Event, Json
from deployer.models.destination import Destination, metadata, spec_block
from deployer.models.digests import Expected
from deployer.models.ledger import Fingerprint, Ledger, Note
from deployer.models.meter import Meter
from deployer.models.opening import open_source
from deployer.models.parts import StoredPart
from deployer.models.places import Place
from deployer.models.reader import read_model_header
from deployer.models.source import Source, SourceChanged, SourceError
from deployer.models.standing import already_there, claim_of, settle
from deployer.models.summary import document
from deployer.models.transfer import Ends, Transfer
from deployer.models.upload import Upload, take_up
from deployer.settings import Settings

#: Enough to fill a fast line with parts of 16 MiB, little enough for the memory of a small machine.
WORKERS = 4


@dataclass(frozen=True)
class Order:
    """What was asked for. sha256: pinned by the person. part_mib None: chosen by size. replace: another object too."""

    place: Place
    where: Destination
    sha256: str | None = None
    workers: int = WORKERS
    part_mib: int | None = None
    replace: bool = False


def push(order: Order, settings: Settings, region: str, clock: Clock, emit: Emit) -> dict[str, Json]:
    """The document of `model push`. Raises SourceError, RefusedError, InterruptedByUser.

    Whatever goes wrong leaves an upload that the next call continues, but for wrong bytes: then it is deleted.
    """
    source = open_source(order.place, settings, region)
    try:
        header = read_model_header(source, clock)
        emit(Event("push.model", document(header, order.place.shown, order.place.file, source.size)))
        entry = order.place.entry
        if entry is not None and entry.mtp_head is True and not header.has_mtp_head:
            doubt = f"the catalogue's {entry.name} {entry.quant} has an MTP head, this file has none"
            emit(Event("warning", {"message": doubt, "hint": "check that it is the file you meant"}))
        ledger = Ledger(settings.home, order.where.bucket, order.where.key)
        return _Push(order, source, header.has_mtp_head, connect(region, settings), ledger, clock).go(emit)
    finally:
        source.close()


class _Push:
    def __init__(self, order: Order, source: Source, mtp_head: bool, s3: S3, ledger: Ledger, clock: Clock) -> None:
        self._order = order
        self._where = order.where
        self._source = source
        self._mtp_head = mtp_head
        self._s3 = s3
        self._ledger = ledger
        self._clock = clock

    def go(self, emit: Emit) -> dict[str, Json]:
        order, source, where = self._order, self._source, self._where
        claim = claim_of(order.place, source, order.sha256, emit)
        there = already_there(self._s3, where, order.place, source, claim, self._ledger, replace=order.replace)
        if there is not None:
            self._ledger.forget()
            return self._document(there, changed=False)
        upload = self._upload(claim)
        emit(Event("push.start", _start(upload, where)))
        meter = Meter(source.size, upload.there_bytes, self._clock, emit)
        transfer = self._transfer(upload, meter)
        with self._resumable(upload.note):
            moved = transfer.run(order.workers)
        meter.finish()
        sha256 = upload.digest.hexdigest()
        self._verify(sha256, claim, upload.note)
        says = claim.says if claim else None
        emit(Event("push.verified", {"sha256": sha256, "says": says}))
        parts = {**upload.stored, **{part.number: part for part in moved}}
        with self._resumable(upload.note):
            self._s3.complete(where.bucket, where.key, upload.note.upload_id, [*parts.values()])
        settle(self._s3, where, source.size, sha256)
        self._ledger.forget()
        return self._document(sha256, changed=True) | {
            "verified_by": says,
            "read_bytes": meter.read,
            "sent_bytes": transfer.sent_bytes,
            "seconds": round(meter.seconds, 3),
        }

    def _upload(self, claim: Expected | None) -> Upload:
        order, where, sha256 = self._order, self._where, claim.sha256 if claim else None
        state = Fingerprint(self._source.size, self._source.tag, sha256)

        def begin(part_bytes: int) -> Note:
            word = secrets.token_hex(8)
            described = metadata(order.place, self._source.tag, sha256, mtp_head=self._mtp_head, push=word)
            upload_id = self._s3.begin(where.bucket, where.key, described)
            return Note(where.bucket, where.key, upload_id, word, part_bytes, state)

        return take_up(self._s3, where, self._ledger, state, wanted_mib=order.part_mib, begin=begin)

    def _transfer(self, upload: Upload, meter: Meter) -> Transfer:
        note, where = upload.note, self._where

        def noted(sha256: str) -> None:
            note.digests.append(sha256)
            note.state = upload.digest.state()
            self._ledger.write(note)

        def put(number: int, data: bytearray, sha256: str) -> StoredPart:
            return self._s3.put_part(where.bucket, where.key, note.upload_id, number, data, sha256)

        return Transfer(Ends(self._source, put, noted), upload.jobs, upload.digest, meter, self._clock)

    def _verify(self, sha256: str, claim: Expected | None, note: Note) -> None:
        if claim is None or sha256 == claim.sha256:
            return
        self._discard(note)
        raise SourceError(
            f"{self._source.shown} has sha256 {sha256}, but {claim.says} says {claim.sha256}; {self._nothing_left()}",
            hint="the source may be damaged or replaced: name another one with --from, or check the digest",
        )

    @contextmanager
    def _resumable(self, note: Note) -> Iterator[None]:
        """Say, whatever ends the block, what is kept and how to go on or give up."""
        give_up = f"aws s3api abort-multipart-upload --bucket {self._where.bucket} --key {self._where.key}"
        go_on = f"the same command goes on where it stopped; to give up: {give_up} --upload-id {note.upload_id}"
        try:
            yield
        except KeyboardInterrupt:
            message = f"stopped; what arrived for {self._where.url} is kept in an unfinished upload"
            raise InterruptedByUser(message, hint=go_on) from None
        except SourceChanged as error:
            self._discard(note)
            raise SourceError(
                f"{error.message}; {self._nothing_left()}", hint="run the same command again: it starts over"
            ) from None
        except DeployerError as error:
            error.hint = f"{error.hint}; {go_on}" if error.hint else go_on
            raise

    def _discard(self, note: Note) -> None:
        self._s3.abort(self._where.bucket, self._where.key, note.upload_id)
        self._ledger.forget()

    def _nothing_left(self) -> str:
        return f"the upload was deleted, nothing is left at {self._where.url}"

    def _document(self, sha256: str, *, changed: bool) -> dict[str, Json]:
        place = self._order.place
        return {
            "changed": changed,
            "url": self._where.url,
            "source": place.shown,
            "revision": place.revision,
            "size_bytes": self._source.size,
            "sha256": sha256,
            "mtp_head": self._mtp_head,
            "spec": spec_block(self._where, sha256, mtp_head=self._mtp_head, entry=place.entry),
        }


def _start(upload: Upload, where: Destination) -> dict[str, Json]:
    return {
        "url": where.url,
        "total_bytes": upload.note.fingerprint.size,
        "parts": len(upload.parts),
        "part_bytes": upload.note.part_bytes,
        "there_bytes": upload.there_bytes,
        "reread_bytes": upload.reread_bytes,
        "upload_id": upload.note.upload_id,
        "why": upload.why,
    }
