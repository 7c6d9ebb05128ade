"""An upload begun on another machine: S3 tells the digests of its parts, so nothing is sent a second time."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path

from deployer.aws.s3 import OpenUpload
from deployer.events import ignore
from deployer.models.destination import Destination
from deployer.models.ledger import Fingerprint, Ledger, Note
from deployer.models.meter import Meter
from deployer.models.parts import MIB, StoredPart
from deployer.models.source import FileSource
from deployer.models.transfer import Ends, Transfer
from deployer.models.upload import Upload, take_up
from tests.support.clock import FakeClock

_WHERE = Destination("bkt", "a", "f.gguf")
_PART = 5 * MIB


class _S3:
    """What S3 says of unfinished uploads; the embedded one does not tell the digests of parts, AWS does."""

    def __init__(self, uploads: dict[str, dict[int, StoredPart]]) -> None:
        self.held = uploads
        self.aborted: list[str] = []
        self.sent: list[int] = []

    def uploads(self, _bucket: str, _key: str) -> list[OpenUpload]:
        return [OpenUpload(name, datetime(2027, 1, 1, tzinfo=UTC)) for name in self.held]

    def parts(self, _bucket: str, _key: str, upload_id: str) -> dict[int, StoredPart] | None:
        return self.held.get(upload_id)

    def abort(self, _bucket: str, _key: str, upload_id: str) -> None:
        self.aborted.append(upload_id)

    def put(self, number: int, data: bytearray, sha256: str) -> StoredPart:
        self.sent.append(number)
        return StoredPart(number, len(data), f"e{number}", sha256)


def _file(folder: Path) -> Path:
    path = folder / "f.gguf"
    path.write_bytes(b"".join(bytes([n]) * _PART for n in range(1, 4)) + b"end")
    return path


def _stored(path: Path, *numbers: int) -> dict[int, StoredPart]:
    content = path.read_bytes()
    pieces = {n: content[(n - 1) * _PART : n * _PART] for n in numbers}
    return {n: StoredPart(n, len(p), f"e{n}", hashlib.sha256(p).hexdigest()) for n, p in pieces.items()}


def _take_up(s3: _S3, home: Path, source: FileSource) -> Upload:
    state = Fingerprint(source.size, source.tag, None)

    def begin(length: int) -> Note:
        return Note("bkt", "a/f.gguf", "new", "word", length, state)

    return take_up(s3, _WHERE, Ledger(home, "bkt", "a/f.gguf"), state, wanted_mib=None, begin=begin)  # type: ignore[arg-type]


def _run(s3: _S3, source: FileSource, upload: Upload, workers: int = 3) -> list[StoredPart]:
    meter = Meter(source.size, upload.there_bytes, FakeClock(), ignore)
    ends = Ends(source, s3.put, upload.note.digests.append)
    return Transfer(ends, upload.jobs, upload.digest, meter, FakeClock()).run(workers)


def test_parts_that_agree_are_read_but_not_sent(tmp_path: Path) -> None:
    path = _file(tmp_path)
    s3, source = _S3({"elsewhere": _stored(path, 1, 3)}), FileSource(str(path))
    upload = _take_up(s3, tmp_path, source)
    assert upload.note.upload_id == "elsewhere"
    assert upload.note.part_bytes == _PART
    assert "begun elsewhere" in upload.why
    parts = _run(s3, source, upload)
    assert sorted(s3.sent) == [2, 4]
    assert [part.number for part in parts] == [1, 2, 3, 4]
    assert upload.digest.hexdigest() == hashlib.sha256(path.read_bytes()).hexdigest()
    source.close()


def test_parts_of_another_file_are_sent_over(tmp_path: Path) -> None:
    path = _file(tmp_path)
    stored = _stored(path, 1, 2) | {2: StoredPart(2, _PART, "e2", "0" * 64)}
    s3, source = _S3({"elsewhere": stored}), FileSource(str(path))
    _run(s3, source, _take_up(s3, tmp_path, source))
    assert sorted(s3.sent) == [2, 3, 4]
    source.close()


def test_an_upload_without_digests_is_let_be(tmp_path: Path) -> None:
    path = _file(tmp_path)
    s3, source = _S3({"odd": {1: StoredPart(1, _PART, "e", None)}}), FileSource(str(path))
    upload = _take_up(s3, tmp_path, source)
    assert upload.note.upload_id == "new"
    assert s3.aborted == []
    source.close()


def test_the_same_state_of_a_source() -> None:
    whole = Fingerprint(10, "t", "d")
    assert whole.same_as(Fingerprint(10, "other node", "d"))
    assert whole.same_as(Fingerprint(10, "t", None))
    assert whole.same_as(Fingerprint(10, None, None))
    assert not whole.same_as(Fingerprint(11, "t", "d"))
    assert not whole.same_as(Fingerprint(10, "t", "e"))
    assert not whole.same_as(Fingerprint(10, "u", None))
