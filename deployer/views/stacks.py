"""`ls` and `status` as tables."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from deployer.events import Json
from deployer.views.units import duration

#: Characters up to which a small object is shown in one line.
_LONGEST_FLAT = 90

_PHASE_STYLES = {"ready": "green", "running": "green", "up": "green", "failed": "red", "stopped": "yellow"}


def stacks_view(document: Mapping[str, Json]) -> RenderableType:
    """The document of `ls --json` as a table, with the notes below it."""
    stacks = document.get("stacks")
    rows = [row for row in stacks if isinstance(row, dict)] if isinstance(stacks, list) else []
    notes = document.get("notes")
    lines = [Text(f"note: {note}", style="bright_black") for note in notes] if isinstance(notes, list) else []
    if not rows:
        return Group(Text("no stacks"), *lines)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("STACK", "WHERE", "PHASE", "INSTANCE", "MODEL", "AGE", "LEFT"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        phase = str(row.get("phase") or "")
        table.add_row(
            str(row.get("stack")),
            str(row.get("region") or row.get("target") or ""),
            Text(phase, style=_PHASE_STYLES.get(phase, "")),
            str(row.get("instance_type") or "—"),
            str(row.get("model") or "—"),
            _seconds(row.get("age_seconds")),
            _seconds(row.get("left_seconds")),
        )
    return Group(table, *lines)


def _seconds(value: Json) -> str:
    if not isinstance(value, int | float):
        return "—"
    return duration(value) if value >= 0 else "over"


def status_view(document: Mapping[str, Json]) -> RenderableType:
    """The document of `status --json`: what `ls` shows of this stack, then every detail."""
    details = document.get("details")
    head = stacks_view({"stacks": [dict(document)]})
    return Group(head, Text(""), tree_view(details if isinstance(details, dict) else {}))


def tree_view(fields: Mapping[str, Json]) -> RenderableType:
    """Any JSON object as indented lines; empty parts are said to be empty."""
    return Text("\n".join(_tree(dict(fields), 0)) or "empty")


def _tree(value: Json, depth: int) -> list[str]:
    indent = "  " * depth
    match value:
        case dict():
            lines = []
            for key, inner in value.items():
                if isinstance(inner, dict | list) and inner and not _flat(inner):
                    lines += [f"{indent}{key}:", *_tree(inner, depth + 1)]
                else:
                    lines.append(f"{indent}{key}: {_scalar(inner)}")
            return lines
        case list():
            return [line for inner in value for line in _entry(inner, depth)]
        case _:
            return [f"{indent}{_scalar(value)}"]


def _entry(value: Json, depth: int) -> list[str]:
    indent = "  " * depth
    if isinstance(value, dict) and _flat(value):
        return [indent + "- " + ", ".join(f"{k} {_scalar(v)}" for k, v in value.items() if v not in (None, ""))]
    lines = _tree(value, depth + 1)
    return [f"{indent}- {lines[0].lstrip()}", *lines[1:]] if lines else []


def _flat(value: Json) -> bool:
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return all(not isinstance(v, dict | list) for v in inner) and len(_scalar(value)) <= _LONGEST_FLAT


def _scalar(value: Json) -> str:
    match value:
        case None:
            return "—"
        case bool():
            return "yes" if value else "no"
        case dict():
            return ", ".join(f"{k} {_scalar(v)}" for k, v in value.items()) or "none"
        case list():
            return ", ".join(_scalar(v) for v in value) or "none"
        case _:
            return str(value)
