"""Which part took which time: spans read from events, and their bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deployer.events import Event

BAR_WIDTH = 44

#: Inner steps shorter than this are left out of the timeline.
_SHORTEST_SECONDS = 0.05


@dataclass(frozen=True)
class Span:
    """start and end in seconds since the rehearsal began. inner: a part of the phase above it."""

    name: str
    start: float
    end: float
    inner: bool = False
    failed: bool = False


def spans_of(events: Sequence[Event]) -> list[Span]:
    """Phases of the rehearsal in order, each followed by what took time inside it.

    Every event carries `t`, its time since the start; those that end something carry `seconds` too.
    """
    spans: list[Span] = []
    told: set[str] = set()
    inner: list[Span] = []
    for event in events:
        fields = event.fields
        t, seconds = fields.get("t"), fields.get("seconds")
        if not isinstance(t, int | float) or not isinstance(seconds, int | float):
            continue
        name, state = str(fields.get("name") or ""), fields.get("state")
        match event.name:
            case "rehearsal.phase" if state in ("done", "failed"):
                spans.append(Span(name, t - seconds, t, failed=state == "failed"))
                spans += sorted(inner, key=lambda span: (span.start, span.end))
                inner = []
            case "step.done":
                inner.append(Span(f"{fields.get('action')} {fields.get('kind')}", t - seconds, t, inner=True))
            case "phase" if state in ("done", "failed") and fields.get("phase") not in told:
                # The console tells the whole boot again to whoever reads it later.
                told.add(str(fields.get("phase")))
                inner.append(Span(f"box: {fields.get('phase')}", t - seconds, t, True, state == "failed"))
            case "probe" if state != "waiting":
                inner.append(Span(f"probe: {fields.get('rung')}", t - seconds, t, True, state == "failed"))
    return [span for span in spans if not span.inner or span.end - span.start >= _SHORTEST_SECONDS]


def bar(span: Span, total: float, width: int = BAR_WIDTH) -> str:
    """The span as a bar on a line of `width` characters that stands for `total` seconds."""
    if total <= 0:
        return " " * width
    first = min(int(span.start / total * width), width - 1)
    last = max(min(round(span.end / total * width), width), first + 1)
    return " " * max(first, 0) + "━" * (last - max(first, 0)) + " " * (width - last)
