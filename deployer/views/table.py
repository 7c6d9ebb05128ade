"""Aligned columns for terminals and pipes. Small on purpose: a plan is printed before a table library has loaded."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Style = Literal["", "bold", "dim", "green", "yellow", "red"]

_CODES: dict[Style, str] = {"bold": "1", "dim": "90", "green": "32", "yellow": "33", "red": "1;31"}
_GAP = 2


@dataclass(frozen=True)
class Cell:
    """One field of a row. style: how it looks where colours are wanted."""

    text: str
    style: Style = ""


Row = Sequence[Cell | str]


@dataclass(frozen=True)
class Page:
    """What lines are laid out for. width in characters."""

    width: int
    colour: bool

    def paint(self, text: str, style: Style) -> str:
        """The text in that style, or as it is."""
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.colour and style and text else text

    def table(self, rows: Sequence[Row], *, indent: int = 2, limits: Mapping[int, int] | None = None) -> list[str]:
        """Rows as lines; the last column is wrapped to the width, others to their limit (number -> characters)."""
        cells = [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in rows]
        widths = self._widths(cells, indent, limits or {})
        return [line for row in cells for line in self._row(row, widths, indent)]

    def paragraph(self, text: str, *, indent: int = 2) -> list[str]:
        """Text wrapped at spaces; a word longer than the page stays whole, so that it can be copied."""
        margin = " " * indent
        return textwrap.wrap(
            text,
            max(self.width, 40),
            initial_indent=margin,
            subsequent_indent=margin,
            break_long_words=False,
            break_on_hyphens=False,
        )

    def _widths(self, rows: list[list[Cell]], indent: int, limits: Mapping[int, int]) -> list[int]:
        count = max((len(row) for row in rows), default=0)
        widths = [max((len(row[i].text) for row in rows if i < len(row)), default=0) for i in range(count)]
        widths = [min(width, limits.get(i, width)) for i, width in enumerate(widths)]
        if widths:
            used = indent + sum(widths[:-1]) + _GAP * (count - 1)
            widths[-1] = min(widths[-1], max(self.width - used, 20))
        return widths

    def _row(self, row: list[Cell], widths: list[int], indent: int) -> list[str]:
        parts = [textwrap.wrap(cell.text, width or 1) or [""] for cell, width in zip(row, widths, strict=False)]
        lines = []
        for number in range(max(map(len, parts))):
            line = " " * indent
            for cell, width, wrapped in zip(row, widths, parts, strict=False):
                text = wrapped[number] if number < len(wrapped) else ""
                line += self.paint(text, cell.style) + " " * (width - len(text) + _GAP)
            lines.append(line.rstrip())
        return lines
