"""An object in S3, read by ranges with the person's own credentials."""

from __future__ import annotations

from collections.abc import Iterator

from deployer.aws.s3 import S3
from deployer.models.digests import of_object
from deployer.models.places import Place
from deployer.models.source import Flaky, SourceError


class S3Source:
    """Raises SourceError when there is no such object."""

    def __init__(self, place: Place, s3: S3) -> None:
        self.shown = place.shown
        self._s3 = s3
        self._bucket, self._key = place.bucket_and_key
        found = s3.look(self._bucket, self._key)
        if found is None:
            raise SourceError(f"{place.shown} does not exist", hint="check the key, capitals too")
        self._etag = found.etag
        self.size = found.size
        self.tag: str | None = found.etag
        self.sha256 = of_object(found.metadata, {})

    def chunks(self, start: int, length: int) -> Iterator[bytes]:
        try:
            yield from self._s3.read(self._bucket, self._key, self._etag, start, length)
        except OSError as error:
            raise Flaky(str(error)) from None

    def close(self) -> None:
        """Nothing is held open."""
