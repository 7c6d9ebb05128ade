"""The table of a tuning."""

from __future__ import annotations

from collections.abc import Mapping

from deployer.events import Json
from deployer.views.table import Cell, Page, Row, Style
from deployer.views.units import duration


def tuned_lines(document: Mapping[str, Json], page: Page) -> list[str]:
    """The document of `tune --json`: what was tried, what won and why."""
    rows, chosen = document.get("rows"), document.get("chosen")
    heading = [Cell(text, "bold") for text in ("CANDIDATE", "TOK/S", "SPREAD", "ACCEPTED", "VERDICT")]
    tried = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    picked = chosen if isinstance(chosen, dict) else {}
    lines = page.table([heading, *(_row(row, picked) for row in tried)], indent=0) if tried else []
    if document.get("ended"):
        lines += ["", f"not everything was tried: {document['ended']}"]
    return [*lines, "", _outcome(document, picked)]


def _row(row: Mapping[str, Json], chosen: Mapping[str, Json]) -> Row:
    median, low, high = (row.get(name) for name in ("median", "low", "high"))
    won = (row.get("drafts"), row.get("threads")) == (chosen.get("drafts"), chosen.get("threads"))
    style: Style = "green" if won else "dim" if median is None else ""
    accepted = row.get("acceptance")
    return [
        Cell(str(row.get("name")), style),
        _speed(median),
        f"{_speed(low)}–{_speed(high)}" if median is not None else "—",
        f"{accepted:.0%}" if isinstance(accepted, int | float) else "—",
        Cell(str(row.get("why") or ""), style),
    ]


def _outcome(document: Mapping[str, Json], chosen: Mapping[str, Json]) -> str:
    stack, took = document.get("stack"), document.get("seconds")
    away = f"; the endpoint was away for {duration(took)}" if isinstance(took, int | float) else ""
    if not chosen:
        return f"{stack}: nothing was chosen, the engine runs as before{away}"
    if document.get("applied"):
        return f"{stack} runs with {chosen.get('name')}, also after a reboot{away}"
    return f"{stack} runs as before; {chosen.get('name')} would be chosen{away}"


def _speed(value: Json) -> str:
    return f"{value:.1f}" if isinstance(value, int | float) else "—"
