"""Engine images as lines."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from deployer.events import Json
from deployer.views.table import Cell, Page, Row
from deployer.views.units import duration, size

_DIGEST_SHOWN = len("sha256:") + 12


def images_lines(fields: Mapping[str, Json], page: Page) -> list[str]:
    """The document of `image ls`."""
    place = str(fields.get("repository"))
    rows = [row for row in _list(fields, "images") if isinstance(row, dict)]
    if not rows:
        why = "has no image" if fields.get("exists") else "does not exist: deployer image push makes it"
        return [f"{place} {why}"]
    table: list[Row] = [[Cell(word, "bold") for word in ("TAG", "DIGEST", "SIZE", "PUSHED", "FOR", "FLAGS")]]
    for row in rows:
        when = datetime.fromtimestamp(_number(row, "pushed_at"), UTC).strftime("%Y-%m-%d %H:%M")
        table.append(
            [
                ", ".join(map(str, _list(row, "tags"))) or "—",
                str(row.get("digest"))[:_DIGEST_SHOWN],
                size(_number(row, "size_bytes")),
                when,
                ", ".join(map(str, _list(row, "families"))) or "—",
                Cell(" ".join(map(str, _list(row, "flags"))) or "made by another version", "dim"),
            ]
        )
    return [page.paint(place, "bold"), *page.table(table)]


def built_lines(fields: Mapping[str, Json]) -> list[str]:
    """The document of `image build`."""
    tried = "tried with a model" if fields.get("smoke_test") else "not tried"
    return [f"built {fields.get('image')} in {duration(_number(fields, 'seconds'))}, {tried}"]


def pushed_lines(fields: Mapping[str, Json]) -> list[str]:
    """The document of `image push`."""
    return [f"{'pushed' if fields.get('pushed') else 'already there:'} {fields.get('image')}"]


def mirrored_lines(fields: Mapping[str, Json]) -> list[str]:
    """The document of `mirror images`."""
    rows = [row for row in _list(fields, "images") if isinstance(row, dict)]
    sent = {str(row.get("image")): _number(row, "sent_bytes") for row in rows}
    return [f"{f'copied {size(count)}' if count else 'already there'}: {name}" for name, count in sent.items()]


def _list(fields: Mapping[str, Json], name: str) -> list[Json]:
    value = fields.get(name)
    return value if isinstance(value, list) else []


def _number(fields: Mapping[str, Json], name: str) -> float:
    value = fields.get(name)
    return float(value) if isinstance(value, int | float) else 0.0
