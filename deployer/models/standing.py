"""Before a push: who says what the file's sha256 must be, and what already lies where it shall go."""

from __future__ import annotations

from deployer.aws.s3 import S3, StoredObject
from deployer.errors import RefusedError
from deployer.events import Emit, Event
from deployer.models import digest, listing
from deployer.models.destination import Destination, same_source
from deployer.models.digests import PUSH, SHA256_TAG, Expected, expected, of_object
from deployer.models.ledger import Ledger
from deployer.models.places import Place
from deployer.models.source import Source, SourceError


def claim_of(place: Place, source: Source, pinned: str | None, emit: Emit) -> Expected | None:
    """Everybody who knows the file's sha256 is asked; they must agree before anything is sent. Raises SourceError."""
    claims = {
        "--sha256": pinned,
        "the catalogue": place.entry.sha256 if place.entry else None,
        "the source": source.sha256,
    }
    if place.listing_url is not None and place.listing_path is not None:
        match listing.look_up(place.listing_url, place.listing_path):
            case str(why):
                emit(Event("warning", {"message": why, "hint": None}))
            case found:
                claims["the hub's listing"] = found.sha256
                if found.size not in (None, source.size):
                    raise SourceError(
                        f"{place.shown} has {source.size:,} bytes, its hub lists {found.size:,}",
                        hint="the hub may be changing it now: try again later, or name a --revision",
                    )
    claim = expected(claims, place.shown)
    if claim is None:
        message = f"nobody says what sha256 {place.file} must have; it is computed and stored, not checked"
        emit(Event("warning", {"message": message, "hint": "--sha256 pins it"}))
    return claim


def already_there(
    s3: S3, where: Destination, place: Place, source: Source, claim: Expected | None, ledger: Ledger, *, replace: bool
) -> str | None:
    """The digest of an object that is what would be pushed; None when there is none, or it may be replaced.

    Raises RefusedError for an object that is something else.
    """
    there = s3.look(where.bucket, where.key)
    if there is None:
        return None
    has = of_object(there.metadata, s3.tags(where.bucket, where.key))
    if there.size == source.size:
        has = has or _finish(s3, where, there, ledger)
        wanted = claim.sha256 if claim else has if same_source(there.metadata, place, source.tag) else None
        if has is not None and has == wanted:
            return has
    if replace:
        return None
    what = f"another file (sha256 {has})" if has else "a file whose sha256 is not known"
    raise RefusedError(
        f"{where.url} exists already and holds {what}, {there.size:,} bytes",
        hint="push to another prefix, or overwrite it with --replace",
    )


def settle(s3: S3, where: Destination, size: int, sha256: str) -> None:
    """See that the object is there and carries its digest: the metadata, fixed when the upload began, may lack it."""
    made = s3.look(where.bucket, where.key)
    if made is None or made.size != size:
        found = "nothing" if made is None else f"{made.size:,} bytes"
        raise RefusedError(f"{where.url} should have {size:,} bytes, S3 shows {found}", hint="push it again")
    if of_object(made.metadata, {}) != sha256:
        s3.tag(where.bucket, where.key, {SHA256_TAG: sha256})


def _finish(s3: S3, where: Destination, there: StoredObject, ledger: Ledger) -> str | None:
    """A push of ours was killed when the object was made but did not carry its digest yet: put it on now."""
    note = ledger.read()
    if note is None or not note.push or there.metadata.get(PUSH) != note.push:
        return None
    whole = digest.continued(note.state)
    if whole is None or len(note.digests) * note.part_bytes < there.size:
        return None
    settle(s3, where, there.size, whole.hexdigest())
    return whole.hexdigest()
