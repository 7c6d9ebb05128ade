"""`model inspect`: a place's header as a document."""

from __future__ import annotations

from deployer.clock import Clock
from deployer.events import Json
from deployer.models.opening import open_source
from deployer.models.places import Place
from deployer.models.reader import read_model_header
from deployer.models.summary import document
from deployer.settings import Settings


def inspect(place: Place, settings: Settings, region: str, clock: Clock) -> dict[str, Json]:
    """Reads the header and nothing else. Raises SourceError in one sentence for what is no whole GGUF."""
    source = open_source(place, settings, region)
    try:
        return document(read_model_header(source, clock), place.shown, place.file, source.size)
    finally:
        source.close()
