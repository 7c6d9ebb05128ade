"""Small plots as inline SVG: medians with their spread over a few places on the x axis. No script, no request. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from deployer.measure.numbers import Spread

_WIDTH, _HEIGHT = 520, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 14, 34, 46
_TICKS = 5
_BOX = 18


@dataclass(frozen=True)
class Series:
    """One line of a plot. values: one for each place on the x axis, None where nothing was measured."""

    name: str
    values: tuple[Spread | None, ...]


@dataclass(frozen=True)
class Plot:
    """y: the axis' label with its unit. band: a range to shade, with its name. ordered: the places are a scale, so
    that a line from one to the next means something."""

    title: str
    x: str
    y: str
    places: tuple[str, ...]
    series: tuple[Series, ...]
    band: tuple[float, float, str] | None = None
    ordered: bool = True

    @property
    def empty(self) -> bool:
        """Nothing was measured that it could show."""
        return not any(value for one in self.series for value in one.values)


def svg(plot: Plot) -> str:
    """The plot as one SVG element. The page gives its classes `s0`, `s1`, `axis` and `band` their colours."""
    highest = max([v.high for one in plot.series for v in one.values if v] + [plot.band[1] if plot.band else 0.0])
    step = nice_step(highest)
    top = step * max(math.ceil(highest / step - 1e-9), 1)
    parts = [
        f'<svg class="plot" role="img" viewBox="0 0 {_WIDTH} {_HEIGHT}" xmlns="http://www.w3.org/2000/svg">',
        f"<title>{escape(plot.title)}</title>",
        *_axes(plot, top, step),
        *_band(plot, top),
    ]
    for number, one in enumerate(plot.series):
        parts += _line(one, number, len(plot.series), len(plot.places), plot, top)
    return "\n".join([*parts, *_legend(plot.series), "</svg>"])


def nice_step(highest: float) -> float:
    """The distance of the ticks: 1, 2, 2.5 or 5 times a power of ten; about five of them reach the highest value."""
    if highest <= 0:
        return 1.0
    rough = highest / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * (1 - 1e-9))


def _x(place: int, places: int) -> float:
    return _LEFT + (place + 0.5) * (_WIDTH - _LEFT - _RIGHT) / max(places, 1)


def _y(value: float, top: float) -> float:
    return _HEIGHT - _BOTTOM - value / top * (_HEIGHT - _TOP - _BOTTOM)


def _axes(plot: Plot, top: float, step: float) -> list[str]:
    parts = []
    for tick in range(round(top / step) + 1):
        y = _y(tick * step, top)
        parts.append(f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" text-anchor="end" x="{_LEFT - 6}" y="{y + 4:.1f}">{tick * step:,.6g}</text>')
    for place, name in enumerate(plot.places):
        x = _x(place, len(plot.places))
        parts.append(
            f'<text class="tick" text-anchor="middle" x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 17}">{escape(name)}</text>'
        )
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text class="label" text-anchor="middle" x="{middle}" y="{_HEIGHT - 8}">{escape(plot.x)}</text>')
    parts.append(f'<text class="label" x="6" y="16">{escape(plot.y)}</text>')
    return parts


def _band(plot: Plot, top: float) -> list[str]:
    if plot.band is None:
        return []
    low, high, name = plot.band
    y, bottom = _y(high, top), _y(low, top)
    return [
        f'<rect class="band" x="{_LEFT}" width="{_WIDTH - _LEFT - _RIGHT}" y="{y:.1f}" height="{bottom - y:.1f}">'
        f"<title>{escape(name)}</title></rect>",
        f'<text class="tick" text-anchor="end" x="{_WIDTH - _RIGHT - 4}" y="{y + 13:.1f}">{escape(name)}</text>',
    ]


def _line(one: Series, number: int, of: int, places: int, plot: Plot, top: float) -> list[str]:
    """Quarters as a box, lowest and highest as a whisker, the median as a dot; medians joined."""
    shift = (number - (of - 1) / 2) * (_BOX + 6)
    known = [(place, value) for place, value in enumerate(one.values) if value]
    dots = [(_x(place, places) + shift, value, plot.places[place]) for place, value in known]
    way = " ".join(f"{x:.1f},{_y(value.median, top):.1f}" for x, value, _ in dots)
    parts = [f'<g class="s{number}">', f'<polyline points="{way}"/>' if plot.ordered and len(dots) > 1 else ""]
    for x, value, place in dots:
        upper, lower = _y(value.upper_quarter, top), _y(value.lower_quarter, top)
        told = f"{one.name}, {place}: median {value.median:.4g}, {value.low:.4g} to {value.high:.4g}"
        parts += [
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_y(value.high, top):.1f}" y2="{_y(value.low, top):.1f}"/>',
            f'<rect x="{x - _BOX / 2:.1f}" width="{_BOX}" y="{upper:.1f}" height="{max(lower - upper, 1):.1f}"/>',
            f'<circle cx="{x:.1f}" cy="{_y(value.median, top):.1f}" r="3.5"><title>{escape(told)}</title></circle>',
        ]
    return [*(part for part in parts if part), "</g>"]


def _legend(series: Sequence[Series]) -> list[str]:
    if len(series) < 2:
        return []
    parts, x = [], _WIDTH - _RIGHT
    for number, one in reversed(list(enumerate(series))):
        # A sans-serif character of this size is at most this wide.
        x -= 7 * len(one.name)
        parts.append(f'<text class="tick" x="{x}" y="16">{escape(one.name)}</text>')
        x -= 14
        parts.append(f'<g class="s{number}"><circle cx="{x + 6}" cy="12" r="4"/></g>')
        x -= 10
    return parts
