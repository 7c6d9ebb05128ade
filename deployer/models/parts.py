"""How a file is cut into the parts of a multipart upload, and what is left to do for each. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deployer.errors import UsageError

MIB = 1 << 20
#: S3's own limits: https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
SMALLEST_PART = 5 * MIB
LARGEST_PART = 5 * 1024 * MIB
MOST_PARTS = 10_000
LARGEST_OBJECT = 5 * 1024 * 1024 * MIB
#: A kill costs the parts under way, so parts are small; each part costs a call, so there are not too many.
_USUAL_PART = 16 * MIB
_USUAL_PARTS = 2_000


@dataclass(frozen=True)
class Part:
    """number counts from 1, as S3 does; start and length in bytes."""

    number: int
    start: int
    length: int


@dataclass(frozen=True)
class StoredPart:
    """A part S3 holds. sha256 (hex) is None where S3 does not tell it."""

    number: int
    length: int
    etag: str
    sha256: str | None


@dataclass(frozen=True)
class Job:
    """A part that has to be read. known: its digest (hex) as it must be again.

    hash: it is not yet in the file's digest. stored: S3 may hold it already; then its digest decides.
    """

    part: Part
    hash: bool
    known: str | None
    stored: StoredPart | None


def part_bytes(size: int, wanted_mib: int | None = None) -> int:
    """The size of a part, a multiple of 1 MiB. Raises UsageError for what S3 does not take."""
    if size > LARGEST_OBJECT:
        raise UsageError("S3 takes no object larger than 5 TiB")
    if wanted_mib is None:
        return max(_USUAL_PART, _ceiling(_ceiling(size, _USUAL_PARTS), MIB) * MIB)
    wanted = wanted_mib * MIB
    smallest = max(SMALLEST_PART, _ceiling(_ceiling(size, MOST_PARTS), MIB) * MIB)
    if not smallest <= wanted <= LARGEST_PART:
        raise UsageError(
            f"parts of {wanted_mib} MiB do not work: S3 takes {SMALLEST_PART // MIB} MiB to 5 GiB and at most "
            f"{MOST_PARTS} parts",
            where="--part-mib",
            hint=f"at least {smallest // MIB} for this file, or leave it out",
        )
    return wanted


def split(size: int, length: int) -> tuple[Part, ...]:
    """The parts of a file of that size, each of `length` bytes but the last."""
    return tuple(
        Part(number, start, min(length, size - start)) for number, start in enumerate(range(0, size, length), start=1)
    )


def jobs(
    parts: Sequence[Part], stored: Mapping[int, StoredPart], digests: Sequence[str], *, hashed: int
) -> tuple[Job, ...]:
    """What is left, in order. digests: of the first parts, as noted when they were read.

    hashed: how many parts the file's digest holds. A part that S3 has and the digest holds needs no reading. One that
    the digest lacks is read again even when S3 has it: S3 cannot give back a part of an unfinished upload.
    """
    left = []
    for index, part in enumerate(parts):
        known = digests[index] if index < len(digests) else None
        there = _usable(part, stored.get(part.number), known)
        if there is None or index >= hashed:
            left.append(Job(part, index >= hashed, known, there))
    return tuple(left)


def _usable(part: Part, stored: StoredPart | None, known: str | None) -> StoredPart | None:
    if stored is None or stored.length != part.length:
        return None
    if stored.sha256 is None:
        # It went up under this upload's id after its digest was noted, with the digest beside it for S3 to check.
        return StoredPart(stored.number, stored.length, stored.etag, known) if known is not None else None
    return stored if known in (None, stored.sha256) else None


def _ceiling(count: int, step: int) -> int:
    return -(-count // step)
