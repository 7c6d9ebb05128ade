"""The rich console all human views write through."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console


def make_console(stream: TextIO, *, colour: bool, width: int | None = None) -> Console:
    """A console on that stream. width None follows the terminal; colour False leaves bold and layout only in place."""
    return Console(
        file=stream,
        no_color=not colour,
        color_system="auto" if colour else None,
        width=width,
        highlight=False,
        soft_wrap=False,
        emoji=False,
        markup=False,
    )
