"""`ls`, `status` and other JSON objects as lines."""

from __future__ import annotations

from collections.abc import Mapping

from deployer.events import Json
from deployer.views.table import Cell, Page, Style
from deployer.views.units import duration

#: Characters up to which a small object is shown in one line.
_LONGEST_FLAT = 90

_PHASES: dict[str, Style] = {"ready": "green", "failed": "red", "no-capacity": "red", "stopped": "yellow"}
_HEADINGS = ("STACK", "WHERE", "PHASE", "INSTANCE", "MODEL", "AGE", "LEFT")


def stacks_lines(document: Mapping[str, Json], page: Page) -> list[str]:
    """The document of `ls --json` as a table, with the notes below it."""
    stacks = document.get("stacks")
    rows = [row for row in stacks if isinstance(row, dict)] if isinstance(stacks, list) else []
    lines = ["no stacks"]
    if rows:
        heading = [Cell(text, "bold") for text in _HEADINGS]
        lines = page.table([heading, *(_stack(row) for row in rows)], indent=0)
    notes = document.get("notes")
    return lines + [page.paint(f"note: {note}", "dim") for note in notes] if isinstance(notes, list) else lines


def _stack(row: Mapping[str, Json]) -> list[Cell | str]:
    phase = str(row.get("phase") or "")
    return [
        str(row.get("stack")),
        str(row.get("region") or row.get("target") or ""),
        Cell(phase, _PHASES.get(phase, "")),
        str(row.get("instance_type") or "—"),
        str(row.get("model") or "—"),
        _seconds(row.get("age_seconds")),
        _seconds(row.get("left_seconds")),
    ]


def _seconds(value: Json) -> str:
    if not isinstance(value, int | float):
        return "—"
    return duration(value) if value >= 0 else "over"


def status_lines(document: Mapping[str, Json], page: Page) -> list[str]:
    """The document of `status --json`: what `ls` shows of this stack, then every detail."""
    details = document.get("details")
    head = stacks_lines({"stacks": [dict(document)]}, page)
    return [*head, "", *tree_lines(details if isinstance(details, dict) else {})]


def tree_lines(fields: Mapping[str, Json]) -> list[str]:
    """Any JSON object as indented lines; what is empty is said to be empty."""
    return _tree(dict(fields), 0) or ["empty"]


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
