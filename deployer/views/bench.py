"""The result of `deployer bench` for people: a table on the terminal, Markdown for an issue or a wiki."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from deployer.events import Json
from deployer.measure.comparing import Difference
from deployer.measure.numbers import Numbers, Spread
from deployer.measure.result import Result, Row
from deployer.views.table import Cell, Page

HEADS = ("CASE", "TOK/S", "SPREAD", "TOGETHER", "FIRST TOKEN", "PROMPT TOK/S", "DRAFTS TAKEN")
COMPARED = ("CASE", "WHAT", "BEFORE", "AFTER", "CHANGE")
_NONE = "—"


def bench_lines(fields: Mapping[str, Json], page: Page) -> list[str]:
    """The document of `bench --json`."""
    result = Result.of(fields)
    table: list[list[Cell | str]] = [[Cell(head, "bold") for head in HEADS], *(_cells(row) for row in result.rows)]
    lines = page.table(table, indent=0)
    return [*lines, "", *page.paragraph(outcome(result), indent=0)]


def compared_lines(fields: Mapping[str, Json], page: Page) -> list[str]:
    """The document of `bench --compare --json`."""
    listed: Any = fields["differences"]
    rows = [Difference(**row) for row in listed]
    table: list[list[Cell | str]] = [[Cell(head, "bold") for head in COMPARED]]
    for row in rows:
        *texts, change = compared_texts(row)
        table.append([*texts, Cell(change, "bold" if row.apart else "dim")])
    return [*page.table(table, indent=0), "", *page.paragraph(NOISE, indent=0)]


#: What the mark behind a change means.
NOISE = "A change without * is within the spread of the two measurements."


def compared_texts(row: Difference) -> tuple[str, ...]:
    """One row of the comparison."""
    change = _NONE if row.change is None else f"{row.change:+.1%}" + (" *" if row.apart else "")
    return row.case, row.what, _number(row.before), _number(row.after), change


def row_texts(row: Row) -> tuple[str, ...]:
    """One row of the table; of a skipped one, the reason instead of the numbers."""
    if row.numbers is None:
        return row.name, f"skipped: {row.skipped}", "", "", "", "", ""
    one: Numbers = row.numbers
    # Two tokens say how soon an answer begins, not how fast it goes on.
    speed = one.per_stream if row.kind != "prompt" else None
    return (
        row.name if one.prompt_tokens is None or row.kind != "prompt" else f"prompt of {one.prompt_tokens} tokens",
        _median(speed),
        f"{_number(speed.low)}–{_number(speed.high)}" if speed else _NONE,
        _median(one.together) if row.kind == "concurrent" else _NONE,
        f"{one.first_token_seconds.median:.2f} s" if one.first_token_seconds else _NONE,
        _median(one.prompt_per_second),
        f"{one.acceptance:.0%}" if one.acceptance is not None else _NONE,
    )


def outcome(result: Result) -> str:
    """One sentence: prediction beside measurement, and what was cut off."""
    row, predicted, verdict = result.single, result.predicted, result.verdict()
    texts = [f"{result.subject}, model {result.model}, {result.runs} runs of {result.max_tokens} tokens."]
    if row is not None and row.numbers is not None and predicted is not None and verdict is not None:
        texts.append(
            f"Predicted {predicted.per_second:.1f} tok/s ({predicted.low:.1f} to {predicted.high:.1f}, "
            f"{predicted.evidence}), measured {_median(row.numbers.per_stream)}: {verdict} the predicted band."
        )
    elif predicted is None:
        texts.append("Nothing is predicted for it.")
    if not result.complete:
        texts.append(f"Not everything was measured: {result.ended}.")
    return " ".join(texts)


def as_json(result: Result) -> str:
    """The result as a file for --compare."""
    return json.dumps(result.document(), ensure_ascii=False, indent=1) + "\n"


def markdown(result: Result) -> str:
    """The result as a Markdown document."""
    return f"# Benchmark of {result.subject}\n\n{outcome(result)}\n\n" + _pipes(HEADS, map(row_texts, result.rows))


def compared_markdown(names: tuple[str, str], rows: Sequence[Difference]) -> str:
    """A comparison as a Markdown document. names: of the two results."""
    return f"# {names[0]} → {names[1]}\n\n{NOISE}\n\n" + _pipes(COMPARED, map(compared_texts, rows))


def _pipes(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [list(heads), ["---"] * len(heads), *(list(row) for row in rows)]
    return "".join(
        "| " + " | ".join(text.replace("|", "\\|").replace("\n", " ") for text in line) + " |\n" for line in lines
    )


def _cells(row: Row) -> list[Cell | str]:
    name, *texts = row_texts(row)
    return [name, *(Cell(text, "yellow" if row.numbers is None else "") for text in texts)]


def _median(spread: Spread | None) -> str:
    return _NONE if spread is None else _number(spread.median)


def _number(value: float | None) -> str:
    if value is None:
        return _NONE
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
