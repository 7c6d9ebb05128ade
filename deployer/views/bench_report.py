"""The result of `deployer bench` as one HTML file: no script, no font and no picture from anywhere else."""

from __future__ import annotations

from collections.abc import Sequence

from deployer.measure.comparing import Difference
from deployer.measure.numbers import Spread
from deployer.measure.result import Result, Row
from deployer.views.bench import COMPARED, HEADS, NOISE, compared_texts, outcome, row_texts
from deployer.views.plots import Plot, Series, svg


def html(result: Result) -> str:
    """The report of one result."""
    return _page(
        f"Benchmark of {result.subject}",
        outcome(result),
        result.at,
        plots((result,)),
        HEADS,
        [row_texts(row) for row in result.rows],
    )


def compared_html(before: Result, after: Result, names: tuple[str, str], rows: Sequence[Difference]) -> str:
    """The report of two results; names tell them apart."""
    return _page(
        f"{names[0]} → {names[1]}",
        NOISE,
        f"{before.at} → {after.at}",
        plots((before, after), names),
        COMPARED,
        [compared_texts(row) for row in rows],
    )


def plots(results: Sequence[Result], names: Sequence[str] = ("",)) -> list[Plot]:
    """Speed by text, speed and first token over streams, first token over the prompt's length; a series each result."""
    predicted = results[0].predicted if len(results) == 1 else None
    band = (predicted.low, predicted.high, "predicted") if predicted else None
    many = len(results) > 1
    speed = _series(results, names, "text", "per_stream")
    together = _series(results, names, "concurrent", "together", "" if many else "together")
    alone = [] if many else _series(results, names, "concurrent", "per_stream", "each stream")
    first, late = (_series(results, names, kind, "first_token_seconds") for kind in ("concurrent", "prompt"))
    rate, delay, streams = "tokens/s", "seconds to the first token", "streams at once"
    return [
        _plot(results, "text", "Speed of one stream", "text", rate, speed, band),
        _plot(results, "concurrent", "Speed with several streams", streams, rate, [*together, *alone]),
        _plot(results, "concurrent", "First token with several streams", streams, delay, first),
        _plot(results, "prompt", "First token of a long prompt", "prompt", delay, late),
    ]


def _plot(
    results: Sequence[Result],
    kind: str,
    title: str,
    x: str,
    y: str,
    series: Sequence[Series],
    band: tuple[float, float, str] | None = None,
) -> Plot:
    places = tuple(name.removesuffix(" at once") for name in _places(results, kind))
    return Plot(title, x, y, places, tuple(series), band, ordered=kind != "text")


def _places(results: Sequence[Result], kind: str) -> list[str]:
    rows = [row for result in results for row in result.rows if row.kind == kind]
    # Two results may have measured different lengths and numbers of streams: the axis is a scale all the same.
    order = {name: place for place, name in enumerate(dict.fromkeys(row.name for row in rows))}
    return sorted(order, key=lambda name: (_leading_number(name), order[name]))


def _leading_number(name: str) -> int:
    word = name.partition(" ")[0]
    return int(word) if word.isdigit() else 0


def _series(results: Sequence[Result], names: Sequence[str], kind: str, what: str, name: str = "") -> list[Series]:
    places = _places(results, kind)
    found = []
    for result, own in zip(results, names, strict=True):
        rows = {row.name: row for row in result.rows if row.kind == kind}
        found.append(Series(name or own, tuple(_value(rows.get(place), what) for place in places)))
    return found


def _value(row: Row | None, what: str) -> Spread | None:
    value = getattr(row.numbers, what) if row is not None and row.numbers is not None else None
    return value if isinstance(value, Spread) else None


def _page(
    title: str, summary: str, at: str, drawings: Sequence[Plot], heads: Sequence[str], rows: Sequence[Sequence[str]]
) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    from deployer.assets import folder

    pages = Environment(
        loader=FileSystemLoader(folder("templates") / "report"), autoescape=True, undefined=StrictUndefined
    )
    # Our own drawings, which escape every text in them.
    safe = [(plot.title, Markup(svg(plot))) for plot in drawings if not plot.empty]  # noqa: S704
    return pages.get_template("bench.html.j2").render(
        title=title, summary=summary, at=at, plots=safe, heads=heads, rows=rows
    )
