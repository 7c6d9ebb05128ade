"""A plan as a person reads it: what, on what, why, does it fit, and which steps."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from deployer.events import Json
from deployer.views.table import Cell, Page, Row, Style
from deployer.views.units import size

_ACTIONS: dict[str, tuple[str, Style]] = {
    "create": ("+", "green"),
    "keep": ("=", "dim"),
    "update": ("~", "yellow"),
    "replace": ("±", "yellow"),
    "delete": ("-", "red"),
}

#: Longest shown value of a decision before it is wrapped, in characters.
_VALUE_WIDTH = 34


def plan_lines(plan: Mapping[str, Json], page: Page) -> list[str]:
    """The document of `plan --json` as lines."""
    lines = _title(plan, page)
    lines += _decisions(plan.get("decisions"), page)
    lines += _memory(_mapping(plan, "memory"), page)
    lines += _speed(_mapping(plan, "speed"), page)
    lines += _money(_mapping(plan, "money"), page)
    lines += _engine(_mapping(plan, "engine"), page)
    lines += check_lines(plan.get("preflight"), page)
    lines += _steps(plan.get("steps"), page)
    count = plan.get("user_data_bytes")
    if isinstance(count, int) and count:
        lines += ["", f"user data {count:,} of 16,384 bytes"]
    return lines


def _mapping(fields: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    value = fields.get(name)
    return value if isinstance(value, dict) else {}


def _rows(value: Json) -> list[Mapping[str, Json]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _number(value: Json) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _title(plan: Mapping[str, Json], page: Page) -> list[str]:
    hardware = _mapping(plan, "hardware")
    place = f"{hardware.get('name')} in {plan['region']}" if plan.get("region") else "this machine"
    lines = [f"{page.paint(str(plan.get('stack')), 'bold')} on {place}"]
    words = [str(hardware["cpu"])] if hardware.get("cpu") else []
    if hardware.get("cores"):
        words.append(f"{hardware['cores']} cores")
    if hardware.get("memory_mib"):
        words.append(size(_number(hardware["memory_mib"]) * 2**20))
    gpu = _mapping(hardware, "gpu")
    if gpu:
        words.append(f"{gpu.get('count')} × {gpu.get('name')} {size(_number(gpu.get('vram_mib')) * 2**20)}")
    return [*lines, page.paint(", ".join(words), "dim")] if words else lines


def _decisions(value: Json, page: Page) -> list[str]:
    rows: list[Row] = [
        [Cell(str(row.get("name")), "bold"), _shown(row.get("value")), f"{row.get('reason')} [{row.get('source')}]"]
        for row in _rows(value)
    ]
    return ["", page.paint("Decisions", "bold"), *page.table(rows, limits={1: _VALUE_WIDTH})]


def _shown(value: Json) -> str:
    match value:
        case None:
            return "—"
        case bool():
            return "yes" if value else "no"
        case _:
            return str(value)


def _memory(memory: Mapping[str, Json], page: Page) -> list[str]:
    if not memory:
        return []
    need, have = size(_number(memory.get("need_bytes"))), size(_number(memory.get("have_bytes")))
    fits = page.paint("fits", "green") if memory.get("fits") else page.paint("does not fit", "red")
    parts = [[name.replace("_", " "), size(_number(count))] for name, count in _mapping(memory, "parts").items()]
    return ["", page.paint("Memory", "bold"), f"  {need} of {have}: {fits}", *page.table(parts, indent=4)]


def _speed(speed: Mapping[str, Json], page: Page) -> list[str]:
    if not speed:
        return []
    rate = f"  {_number(speed.get('tokens_per_second')):.1f} tokens/s for one stream ({speed.get('evidence')})"
    first = f"  first token of 1,000 after {_number(speed.get('first_token_seconds_at_1000')):.1f} s (modelled)"
    return ["", page.paint("Speed", "bold"), rate, first]


def _money(money: Mapping[str, Json], page: Page) -> list[str]:
    if not money:
        return []
    rows: list[Row] = []
    order = money.get("markets")
    tried = [str(market) for market in order] if isinstance(order, list) else []
    for market, price in _mapping(money, "prices").items():
        label = _label(market, tried)
        if not isinstance(price, dict):
            rows.append([label, Cell("unknown", "dim")])
            continue
        currency, tokens = price.get("currency"), _mapping(price, "per_million_tokens")
        at = ", ".join(f"{cost} at {share}" for share, cost in tokens.items())
        costs = f"{currency} {price.get('per_hour')} an hour, {price.get('per_month')} a month"
        rows.append([label, f"{costs}; per Mtok {at} [{price.get('source')}]" if at else costs])
    disk = _mapping(money, "volume_per_month")
    rows.append(["root volume", f"{disk.get('currency')} {disk.get('amount')} a month" if disk else "unknown"])
    sent = _mapping(money, "transfer_out_per_gb")
    rows.append(["transfer out", f"{sent.get('currency')} {sent.get('amount')} a GB" if sent else "unknown"])
    return ["", page.paint("Money", "bold"), *page.table(rows)]


def _label(market: str, tried: list[str]) -> Cell:
    """The market, marked when the instance is bought there: which first, when there are several."""
    if market not in tried:
        return Cell(market)
    if len(tried) == 1:
        return Cell(f"{market} (this stack)", "bold")
    return Cell(f"{market} ({'tried first' if market == tried[0] else 'without spot capacity'})", "bold")


_VERDICTS: dict[str, tuple[str, Style]] = {"ok": ("✔", "green"), "warn": ("!", "yellow"), "refuse": ("✘", "red")}


def check_lines(checks: Json, page: Page) -> list[str]:
    """A preflight list, each with its fix; nothing when nothing was asked."""
    rows: list[Row] = []
    for check in _rows(checks):
        sign, style = _VERDICTS.get(str(check.get("verdict")), ("?", ""))
        fix = f"; {check.get('fix')}" if check.get("fix") else ""
        rows.append([Cell(sign, style), Cell(str(check.get("name")), "bold"), f"{check.get('text')}{fix}"])
    return ["", page.paint("Preflight", "bold"), *page.table(rows)] if rows else []


def _engine(engine: Mapping[str, Json], page: Page) -> list[str]:
    argv = engine.get("argv")
    if not isinstance(argv, list):
        return []
    command = shlex.join(["llama-server", *map(str, argv)])
    return ["", page.paint(f"Engine ({engine.get('build')})", "bold"), *page.paragraph(command)]


def _steps(value: Json, page: Page) -> list[str]:
    rows = _rows(value)
    if not rows:
        return []
    changes = sum(row.get("action") != "keep" for row in rows)
    title = f"Steps ({changes} change{'' if changes == 1 else 's'})"
    cells: list[Row] = []
    for row in rows:
        sign, style = _ACTIONS.get(str(row.get("action")), ("?", ""))
        action = Cell(f"{sign} {row.get('action')}", style)
        cells.append([action, str(row.get("kind")), str(row.get("name")), Cell(str(row.get("reason") or ""), "dim")])
    return ["", page.paint(title, "bold"), *page.table(cells)]
