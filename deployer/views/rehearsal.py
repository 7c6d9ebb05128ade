"""A rehearsal on screen: the live table of its phases, and the closing report with a timeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from deployer.clock import Clock
from deployer.events import Event, Json
from deployer.views.console import write
from deployer.views.lines import COLOURS, SYMBOLS, Mark, line_of
from deployer.views.timeline import Span, bar, spans_of
from deployer.views.units import duration, shortened

_MARKS: dict[str, Mark] = {"done": "done", "failed": "fail"}


@dataclass
class _Row:
    name: str
    state: str
    since: float
    seconds: float | None = None
    detail: str = ""


class Board:
    """The rows of the live table, kept up to date by events."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rows: dict[str, _Row] = {}
        self._current: _Row | None = None
        self._title = ""

    def apply(self, event: Event) -> None:
        """Take in one event of a rehearsal."""
        fields = event.fields
        if event.name == "rehearsal.start":
            self._title = f"rehearsing {fields.get('spec')} in an embedded AWS"
        elif event.name == "rehearsal.phase":
            self._apply_phase(fields)
        elif self._current is not None:
            line = line_of(event)
            if line is not None:
                self._current.detail = line.text

    def _apply_phase(self, fields: Mapping[str, Json]) -> None:
        name, state = str(fields.get("name")), str(fields.get("state"))
        if state == "start":
            self._current = self._rows[name] = _Row(name, state, self._clock.monotonic())
            return
        row = self._rows.get(name)
        if row is not None:
            row.state = state
            seconds = fields.get("seconds")
            row.seconds = float(seconds) if isinstance(seconds, int | float) else None
            row.detail = str(fields.get("message") or "")

    def table(self, spinner: RenderableType, width: int) -> RenderableType:
        """The table as it stands; `spinner` marks the row that is going on."""
        table = Table.grid(padding=(0, 1))
        name_width = max((len(row.name) for row in self._rows.values()), default=0)
        for row in self._rows.values():
            mark = _MARKS.get(row.state)
            sign = Text(SYMBOLS[mark], style=COLOURS[mark]) if mark else spinner
            took = duration(row.seconds if row.seconds is not None else self._clock.monotonic() - row.since)
            detail = shortened(row.detail, max(width - name_width - len(took) - 8, 10))
            table.add_row(sign, row.name, Text(took, style="bold"), Text(detail, style="bright_black"))
        return Group(Text(self._title, style="bold"), table)


def print_report(events: Sequence[Event], stream: TextIO, *, colour: bool, width: int | None) -> None:
    """Print the closing report of a rehearsal from all its events; the last is `rehearsal.summary`."""
    write(report(events), stream, colour=colour, width=width)


def report(events: Sequence[Event]) -> RenderableType:
    """Timeline, findings and what was substituted."""
    summary = events[-1].fields
    parts: list[RenderableType] = [Text("\nTimeline", style="bold"), _timeline(spans_of(events))]
    parts += [Text("\nFindings", style="bold"), _findings(summary)]
    swaps = summary.get("substitutions")
    if isinstance(swaps, list) and swaps:
        parts.append(Text("\nReal in AWS, substituted here", style="bold"))
        parts += [Padding(Text(str(swap)), (0, 0, 0, 2)) for swap in swaps]
    parts.append(_verdict(summary))
    return Group(*parts)


def _timeline(spans: Sequence[Span]) -> RenderableType:
    total = max((span.end for span in spans), default=0.0)
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    for span in spans:
        style = "red" if span.failed else "bright_black" if span.inner else "cyan"
        label = Text(("    " if span.inner else "  ") + span.name, style="" if not span.inner else "bright_black")
        table.add_row(label, Text(bar(span, total), style=style), Text(duration(span.end - span.start)))
    return table


def _findings(summary: Mapping[str, Json]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    leaks = summary.get("leaks")
    left = [str(leak) for leak in leaks] if isinstance(leaks, list) else []
    rows: list[tuple[str, str | None]] = [
        ("completion", _quoted(summary.get("completion"))),
        ("drafts", _drafts(summary)),
        ("second up", _count(summary.get("second_up_changes"), "change")),
        ("AWS calls", _plain(summary.get("aws_calls"))),
        ("left behind", "nothing" if isinstance(leaks, list) and not left else ", ".join(left) or None),
    ]
    for name, value in rows:
        table.add_row(f"  {name}", value or "—")
    return table


def _quoted(value: Json) -> str | None:
    return None if value is None else repr(shortened(str(value), 60))


def _plain(value: Json) -> str | None:
    return None if value is None else str(value)


def _count(value: Json, noun: str) -> str | None:
    return f"{value} {noun}{'' if value == 1 else 's'}" if isinstance(value, int) else None


def _drafts(summary: Mapping[str, Json]) -> str | None:
    made, accepted = summary.get("draft_n"), summary.get("draft_n_accepted")
    if not isinstance(made, int) or not isinstance(accepted, int) or not made:
        return "none, MTP is off" if summary.get("ok") else None
    return f"{accepted} of {made} accepted ({100 * accepted / made:.0f} %)"


def _verdict(summary: Mapping[str, Json]) -> Text:
    seconds = summary.get("seconds")
    took = f" in {duration(seconds)}" if isinstance(seconds, int | float) else ""
    if summary.get("ok"):
        return Text(f"\n✔ {summary.get('stack')} rehearsed{took}", style="bold green")
    return Text(f"\n✘ {summary.get('stack')} failed{took}", style="bold red")
