"""A Place as an open Source."""

from __future__ import annotations

from deployer.models.places import Place
from deployer.models.source import FileSource, Source
from deployer.settings import Settings


def open_source(place: Place, settings: Settings, region: str) -> Source:
    """Raises SourceError in one sentence for whatever is not there or cannot be read. region: for s3 places."""
    match place.kind:
        case "file":
            return FileSource(place.address)
        case "http":
            from deployer.models.http_source import HttpSource

            return HttpSource(place)
        case "s3":
            from deployer.aws.s3 import connect
            from deployer.models.s3_source import S3Source

            return S3Source(place, connect(region, settings))
