"""`ls`, `status` and other JSON objects as lines."""

from __future__ import annotations

from collections.abc import Mapping

from deployer.events import Json
from deployer.views.table import Cell, Page, Style
from deployer.views.units import duration

#: Characters up to which a small object is shown in one line.
_LONGEST_FLAT = 90

_PHASES: dict[str, Style] = {
    "ready": "green",
    "failed": "red",
    "interrupted": "red",
    "no-capacity": "red",
    "stopped": "yellow",
}
_HEADINGS = ("STACK", "WHERE", "PHASE", "INSTANCE", "MODEL", "AGE", "SPENT", "LEFT")


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
        money(row.get("spent")),
        _left(row),
    ]


def money(spent: Json) -> str:
    """The estimate so far, `unknown` where nobody knows the price, a dash where nothing is billed."""
    if not isinstance(spent, dict):
        return "—"
    return "unknown" if spent.get("amount") is None else f"{spent.get('currency')} {spent.get('amount'):.2f}"


def _left(row: Mapping[str, Json]) -> str:
    """Until the end, and without a request until another."""
    idle, left = row.get("idle_seconds"), row.get("idle_left_seconds")
    soon = f"idle: {_seconds(left)}" if left is not None else f"or {_seconds(idle)} idle" if idle is not None else ""
    end = _seconds(row.get("left_seconds")) if row.get("left_seconds") is not None or not soon else ""
    return " ".join(part for part in (end, soon) if part)


def orphans_lines(document: Mapping[str, Json], page: Page) -> list[str]:
    """The document of `sweep --json`: each stack, then what it has."""
    found = document.get("orphans")
    rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    if not rows:
        return ["nothing to sweep: every stack is looked after"]
    heading = [Cell(text, "bold") for text in ("STACK", "WHERE", "AGE", "BILLED", "PER HOUR", "OTHER", "WHY")]
    return page.table([heading, *(_orphan(row) for row in rows)], indent=0)


def _orphan(row: Mapping[str, Json]) -> list[Cell | str]:
    instances, things = row.get("instances"), row.get("resources")
    rows = instances if isinstance(instances, list) else []
    billed = [f"{one.get('id')} {one.get('type')}" for one in rows if isinstance(one, dict)]
    other = len(things) - len(billed) if isinstance(things, list) else 0
    return [
        str(row.get("stack")),
        str(row.get("region")),
        _seconds(row.get("age_seconds")),
        Cell(", ".join(billed), "red") if billed else "—",
        _rate(row) if billed else "—",
        str(other),
        str(row.get("why")),
    ]


def _rate(row: Mapping[str, Json]) -> str:
    rate = row.get("per_hour")
    return f"{row.get('currency') or ''} {rate:.2f}".strip() if isinstance(rate, int | float) else "unknown"


def _seconds(value: Json) -> str:
    if not isinstance(value, int | float):
        return "—"
    return duration(value) if value >= 0 else "over"


def status_lines(document: Mapping[str, Json], page: Page) -> list[str]:
    """The document of `status --json`: what `ls` shows of this stack, then every detail."""
    details = document.get("details")
    head = stacks_lines({"stacks": [dict(document)]}, page)
    return [*head, "", *tree_lines(details if isinstance(details, dict) else {}, page)]


def tree_lines(fields: Mapping[str, Json], page: Page) -> list[str]:
    """Any JSON object as indented lines, lists of like objects as tables; what is empty is said to be empty."""
    return _tree(dict(fields), 0, page) or ["empty"]


def _tree(value: Json, depth: int, page: Page) -> list[str]:
    indent = "  " * depth
    match value:
        case dict():
            lines = []
            for key, inner in value.items():
                if isinstance(inner, dict | list) and inner and not _fits_a_line(inner):
                    lines += [f"{indent}{key}:", *_tree(inner, depth + 1, page)]
                else:
                    lines.append(f"{indent}{key}: {_scalar(inner)}")
            return lines
        case list() if all(isinstance(row, dict) and _is_flat(row) for row in value):
            rows = [[_scalar(cell) for cell in row.values()] for row in value if isinstance(row, dict)]
            return page.table(rows, indent=2 * depth)
        case list():
            return [line for inner in value for line in _tree(inner, depth, page)]
        case _:
            return [f"{indent}{_scalar(value)}"]


def _is_flat(value: Json) -> bool:
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return all(not isinstance(v, dict | list) for v in inner)


def _fits_a_line(value: Json) -> bool:
    return _is_flat(value) and len(_scalar(value)) <= _LONGEST_FLAT


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
