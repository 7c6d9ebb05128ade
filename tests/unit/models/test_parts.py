"""Cutting a file into parts and what is left to do for each."""

from __future__ import annotations

import pytest

from deployer.errors import UsageError
from deployer.models.parts import MIB, Part, StoredPart, jobs, part_bytes, split

_PARTS = split(25, 10)


def _stored(*numbers: int, sha256: str | None = "d") -> dict[int, StoredPart]:
    return {n: StoredPart(n, _PARTS[n - 1].length, f"e{n}", sha256 and f"{sha256}{n}") for n in numbers}


def test_parts_cover_the_file() -> None:
    assert list(_PARTS) == [Part(1, 0, 10), Part(2, 10, 10), Part(3, 20, 5)]


@pytest.mark.parametrize("size", [1, 5 * MIB, 18_500_000_000, 71_100_000_000, 5 * 1024**4])
def test_the_usual_size_is_one_that_s3_takes(size: int) -> None:
    length = part_bytes(size)
    assert length % MIB == 0
    assert length >= 16 * MIB
    assert len(range(0, size, length)) <= 2000


@pytest.mark.parametrize(("size", "mib"), [(10**9, 4), (10**12, 5), (10**9, 6000)])
def test_sizes_that_s3_refuses(size: int, mib: int) -> None:
    with pytest.raises(UsageError, match="do not work"):
        part_bytes(size, mib)


def test_more_than_s3_holds() -> None:
    with pytest.raises(UsageError, match="5 TiB"):
        part_bytes(6 * 1024**4)


def test_a_new_upload_reads_hashes_and_sends_everything() -> None:
    left = jobs(_PARTS, {}, [], hashed=0)
    assert [(job.part.number, job.hash, job.stored) for job in left] == [
        (1, True, None),
        (2, True, None),
        (3, True, None),
    ]


def test_what_is_hashed_and_stored_is_left_alone() -> None:
    left = jobs(_PARTS, _stored(1, 2), ["d1", "d2"], hashed=2)
    assert [job.part.number for job in left] == [3]


def test_what_was_hashed_but_did_not_arrive_is_sent_again_and_must_be_the_same() -> None:
    (first, last) = jobs(_PARTS, _stored(1), ["d1", "d2"], hashed=2)
    assert (first.part.number, first.hash, first.known) == (2, False, "d2")
    assert last.hash


def test_without_the_digest_stored_parts_are_read_but_not_sent() -> None:
    left = jobs(_PARTS, _stored(1, 2), [], hashed=0)
    assert [(job.part.number, job.hash, job.stored is not None) for job in left] == [
        (1, True, True),
        (2, True, True),
        (3, True, False),
    ]


def test_a_stored_part_of_another_length_or_digest_is_sent_again() -> None:
    stored = {1: StoredPart(1, 9, "e", "d1"), 2: StoredPart(2, 10, "e", "other")}
    assert [(job.part.number, job.stored) for job in jobs(_PARTS, stored, ["d1", "d2"], hashed=2)][:2] == [
        (1, None),
        (2, None),
    ]


def test_a_stored_part_whose_digest_nobody_knows_is_not_trusted() -> None:
    assert jobs(_PARTS, _stored(1, sha256=None), [], hashed=0)[0].stored is None
    assert [job.part.number for job in jobs(_PARTS, _stored(1, sha256=None), ["d1"], hashed=1)] == [2, 3]
