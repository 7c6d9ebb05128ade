"""`deployer advise` as a table and as a plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deployer.errors import RefusedError
from deployer.views.table import Cell, Page, Row

_SHOWN = 15
#: Square points of a bubble for each unit of currency per million tokens.
_AREA = 25
_HEADS = ("instance", "model", "build", "MTP", "tok/s", "per h", "month", "per Mtok", "fits", "why not, or how known")


def advice_lines(document: Mapping[str, Any], page: Page) -> list[str]:
    """The document of `advise --json` as lines; what cannot be had is cut short."""
    options = document["options"]
    rows: list[Row] = [[Cell(head, "bold") for head in _HEADS], *(_row(option) for option in options[:_SHOWN])]
    lines = page.table(rows)
    if len(options) > _SHOWN:
        lines.append(page.paint(f"  and {len(options) - _SHOWN} more: --json has them all", "dim"))
    lines += ["", *(line for note in document["notes"] for line in page.paragraph(note))]
    return lines


def _row(option: Mapping[str, Any]) -> Row:
    mtp = option["mtp"]
    why = "; ".join(option["why_not"])
    evidence = option["evidence"] or "speed unknown"
    return [
        Cell(option["instance"], "" if why else "green"),
        f"{option['model']} {option['quant']}",
        option["build"],
        f"n={mtp['draft_n_max']}" if mtp["enabled"] else "off",
        _number(option["tokens_per_second"]),
        _number(option["per_hour"]),
        _number(option["per_month"]),
        _number(option["per_million_tokens"]),
        "yes" if option["fits"] else "no",
        Cell(why or evidence, "yellow" if why else "dim"),
    ]


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.2f}"


def draw(options: Sequence[Mapping[str, Any]], path: Path, currency: str) -> None:
    """Speed against monthly price, a bubble's area is the price per million tokens. Raises RefusedError without
    matplotlib (the extra `plot`) or without anything that has a price and a speed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise RefusedError(
            "matplotlib draws the plot and is not installed", hint="pip install 'deployer[plot]'"
        ) from None
    shown = [option for option in options if option["per_million_tokens"] is not None and option["fits"]]
    if not shown:
        raise RefusedError("nothing that fits has a price, so there is nothing to draw", hint="--pricing reserved-1y")
    figure = Figure(figsize=(9, 6), layout="constrained")
    axes = figure.subplots()
    for model, colour in zip(sorted({option["model"] for option in shown}), ("C0", "C1", "C2", "C3"), strict=False):
        mine = [option for option in shown if option["model"] == model]
        axes.scatter(
            [option["per_month"] for option in mine],
            [option["tokens_per_second"] for option in mine],
            s=[_AREA * option["per_million_tokens"] for option in mine],
            alpha=0.5,
            color=colour,
            label=model,
        )
    for option in shown:
        mtp = ", MTP" if option["mtp"]["enabled"] else ""
        above = 3 + (_AREA * option["per_million_tokens"]) ** 0.5 / 2
        axes.annotate(
            f"{option['instance']}{mtp}\n{option['per_million_tokens']:,.2f} {currency}/Mtok",
            (option["per_month"], option["tokens_per_second"]),
            xytext=(0, above),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=8,
        )
    axes.set_xlabel(f"{currency} a month ({shown[0]['market']})")
    axes.set_ylabel("tokens/s")
    axes.set_title("Speed against price; the area is the price of a million tokens")
    axes.margins(0.25)
    axes.set_ylim(bottom=0)
    legend = axes.legend(loc="best")
    for handle in legend.legend_handles:
        if handle is not None:
            handle.set(sizes=[60])
    figure.savefig(path, dpi=120)
