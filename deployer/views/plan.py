"""A plan as a person reads it: what, on what, why, does it fit, and which steps."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from deployer.events import Json
from deployer.views.units import size

_ACTION_STYLES = {"create": "green", "keep": "bright_black", "update": "yellow", "replace": "yellow", "delete": "red"}
_ACTION_SIGNS = {"create": "+", "keep": "=", "update": "~", "replace": "±", "delete": "-"}


def plan_view(plan: Mapping[str, Json]) -> RenderableType:
    """The document of `plan --json` as tables."""
    parts: list[RenderableType] = [_title(plan), _decisions(plan.get("decisions")), *_memory(_mapping(plan, "memory"))]
    parts += _engine(_mapping(plan, "engine"))
    parts += _steps(plan.get("steps"))
    count = plan.get("user_data_bytes")
    if isinstance(count, int) and count:
        parts.append(Text(f"\nuser data {count:,} of 16,384 bytes"))
    return Group(*parts)


def _mapping(fields: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    value = fields.get(name)
    return value if isinstance(value, dict) else {}


def _rows(value: Json) -> list[Mapping[str, Json]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _number(value: Json) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _title(plan: Mapping[str, Json]) -> Text:
    hardware = _mapping(plan, "hardware")
    place = plan.get("region") or "this machine"
    title = Text()
    title.append(str(plan.get("stack")), style="bold")
    title.append(f" on {hardware.get('name') or plan.get('target')} in {place}")
    facts = _hardware(hardware)
    if facts:
        title.append(f"\n{facts}", style="bright_black")
    return title


def _hardware(hardware: Mapping[str, Json]) -> str:
    words = [str(hardware["cpu"])] if hardware.get("cpu") else []
    if hardware.get("cores"):
        words.append(f"{hardware['cores']} cores")
    if hardware.get("memory_mib"):
        words.append(size(_number(hardware["memory_mib"]) * 2**20))
    gpu = _mapping(hardware, "gpu")
    if gpu:
        words.append(f"{gpu.get('count')} × {gpu.get('name')} {size(_number(gpu.get('vram_mib')) * 2**20)}")
    return ", ".join(words)


def _grid(title: str, *columns: str) -> Table:
    table = Table(
        title=f"\n{title}", title_justify="left", title_style="bold", box=None, pad_edge=False, show_header=False
    )
    for style in columns:
        table.add_column(style=style, overflow="fold")
    return table


def _decisions(value: Json) -> Table:
    table = _grid("Decisions", "bold", "", "")
    table.columns[1].max_width = 40
    for row in _rows(value):
        chosen = row.get("value")
        shown = {None: "—", True: "yes", False: "no"}.get(chosen) if isinstance(chosen, bool | None) else str(chosen)
        why = Text(str(row.get("reason") or "")).append(f"  ({row.get('source')})", style="bright_black")
        table.add_row(f"  {row.get('name')}", shown, why)
    return table


def _memory(memory: Mapping[str, Json]) -> list[RenderableType]:
    if not memory:
        return []
    fits = bool(memory.get("fits"))
    need, have = size(_number(memory.get("need_bytes"))), size(_number(memory.get("have_bytes")))
    heading = Text("\nMemory", style="bold")
    where = str(memory.get("where") or "")
    verdict = Text(f"  {need} of {have} {where.upper()}".rstrip() + ": ")
    verdict.append("fits" if fits else "does not fit", style="green" if fits else "bold red")
    if memory.get("nearest"):
        verdict.append(f"\n  nearest: {memory['nearest']}")
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column()
    table.add_column(justify="right")
    for name, count in _mapping(memory, "parts").items():
        table.add_row(f"    {name.replace('_', ' ')}", size(_number(count)))
    return [heading, verdict, table]


def _engine(engine: Mapping[str, Json]) -> list[RenderableType]:
    argv = engine.get("argv")
    if not isinstance(argv, list):
        return []
    command = shlex.join(["llama-server", *map(str, argv)])
    return [Text(f"\nEngine ({engine.get('build')})", style="bold"), Padding(Text(command), (0, 2))]


def _steps(value: Json) -> list[RenderableType]:
    rows = _rows(value)
    if not rows:
        return []
    changes = sum(row.get("action") != "keep" for row in rows)
    table = _grid(f"Steps ({changes} change{'' if changes == 1 else 's'})", "", "", "", "bright_black")
    for row in rows:
        action = str(row.get("action"))
        sign = Text(f"  {_ACTION_SIGNS.get(action, '?')} {action}", style=_ACTION_STYLES.get(action, ""))
        table.add_row(sign, str(row.get("kind")), str(row.get("name")), str(row.get("reason") or ""))
    return [table]
