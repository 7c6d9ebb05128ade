"""Which sha256 a file must have and who says so, and where an object in S3 carries its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from deployer.models.source import SourceError

#: Metadata of the objects we make. `push` is a random word that tells the owner of a killed push its own object.
SHA256, SOURCE, TAG, REVISION, MTP_HEAD, PUSH = "sha256", "source", "source-tag", "revision", "mtp-head", "push"
#: Metadata cannot change once an upload has begun, so a digest that is known only at its end becomes a tag.
SHA256_TAG = "deployer:sha256"
_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True)
class Expected:
    """sha256: hex. says: who, for a person."""

    sha256: str
    says: str


def expected(claims: Mapping[str, str | None], shown: str) -> Expected | None:
    """The one digest that all who name one agree on; None when nobody does. claims: who -> sha256.

    Raises SourceError when two differ: then the file is not the one that was meant, before a byte of it moved.
    """
    named = {who: digest for who, digest in claims.items() if digest is not None}
    if not named:
        return None
    if len(set(named.values())) > 1:
        said = ", ".join(f"{who} says {digest}" for who, digest in named.items())
        raise SourceError(
            f"{shown} is not the file that was meant: {said}",
            hint="check the revision and the quantisation; files with and without MTP have the same names",
        )
    return Expected(next(iter(named.values())), " and ".join(named))


def of_object(metadata: Mapping[str, str], tags: Mapping[str, str]) -> str | None:
    """The sha256 an object carries: the tag counts more, it was set when the whole file had been read."""
    digest = tags.get(SHA256_TAG) or metadata.get(SHA256)
    return digest if digest and is_sha256(digest) else None


def is_sha256(text: str) -> bool:
    """64 lower case hexadecimal digits."""
    return len(text) == 64 and _HEX.issuperset(text)
