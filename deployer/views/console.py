"""The rich console all human views write through."""

from __future__ import annotations

import io
from typing import TextIO

from rich.console import Console, RenderableType


def write(renderable: RenderableType, stream: TextIO, *, colour: bool, width: int | None) -> None:
    """Print on the terminal, or (width given) as plain lines without the padding that tables leave at their ends."""
    if width is None:
        make_console(stream, colour=colour).print(renderable)
        return
    text = io.StringIO()
    make_console(text, colour=False, width=width).print(renderable)
    stream.write("".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines()))


def make_console(stream: TextIO, *, colour: bool, width: int | None = None) -> Console:
    """Make a console on that stream. width None follows the terminal."""
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
