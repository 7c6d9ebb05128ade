"""Events on a terminal: what is finished scrolls by, what is going on stays below with its seconds running."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TextIO

from rich.console import Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from deployer.clock import Clock, SystemClock
from deployer.events import Event
from deployer.views.console import make_console
from deployer.views.documents import print_document
from deployer.views.lines import COLOURS, SYMBOLS, Line, line_of
from deployer.views.rehearsal import Board, print_report
from deployer.views.units import duration, shortened

_REFRESHES_PER_SECOND = 8


@dataclass
class _Busy:
    line: Line
    since: float


class LiveView:
    """A rich live area; a rehearsal gets a table of its phases instead of scrolling lines."""

    def __init__(self, stream: TextIO, *, colour: bool, clock: Clock | None = None) -> None:
        self._stream = stream
        self._colour = colour
        self._clock = clock or SystemClock()
        self._console = make_console(stream, colour=colour)
        # rich refreshes in a thread that holds rich's lock and asks for our state: whoever holds `_state` must not call
        # rich. `_screen` keeps our own calls of rich in order; `_state` is always the innermost lock.
        self._screen = threading.RLock()
        self._state = threading.Lock()
        self._busy: dict[str, _Busy] = {}
        self._events: list[Event] = []
        self._last = ""
        self._board: Board | None = None
        self._live: Live | None = None
        self._spinner = Spinner("dots", style="cyan" if colour else "")

    def emit(self, event: Event) -> None:
        """Show what happened, above or in the live area."""
        with self._screen:
            self._events.append(event)
            if event.name == "rehearsal.start":
                self._board = Board(self._clock)
            if self._board is not None:
                self._emit_rehearsal(self._board, event)
                return
            line = line_of(event)
            if line is None:
                return
            self._note(line)
            said = line.mark + line.text
            if said == self._last:
                return
            self._last = said
            if line.mark == "busy":
                self._start()
            else:
                self._print(line)

    def show(self, document: Event) -> None:
        """Leave the live area and print a document."""
        with self._screen:
            self._stop()
            print_document(document, self._stream, colour=self._colour, width=None)
            self._stream.flush()

    def _note(self, line: Line) -> None:
        with self._state:
            if line.mark == "busy":
                known = self._busy.get(line.key)
                self._busy[line.key] = _Busy(line, known.since if known else self._clock.monotonic())
            else:
                self._busy.pop(line.key, None)

    def _emit_rehearsal(self, board: Board, event: Event) -> None:
        with self._state:
            board.apply(event)
        if event.name == "rehearsal.summary":
            self._stop()
            print_report(self._events, self._stream, colour=self._colour, width=None)
        else:
            self._start()

    def _print(self, line: Line) -> None:
        if self._live is not None:
            self._live.refresh()
        text = Text(SYMBOLS[line.mark], style=COLOURS[line.mark]).append(f" {line.text}", style="default")
        self._console.print(text)
        for more in line.more:
            self._console.print(Text(f"    {more}", style="bright_black"))

    def _start(self) -> None:
        if self._live is None:
            self._live = Live(
                console=self._console,
                get_renderable=self._render,
                refresh_per_second=_REFRESHES_PER_SECOND,
                transient=self._board is None,
            )
            self._live.start()

    def _stop(self) -> None:
        if self._live is not None:
            live, self._live = self._live, None
            live.stop()

    def _render(self) -> RenderableType:
        with self._state:
            if self._board is not None:
                return self._board.table(self._spinner, self._console.width)
            table = Table.grid(padding=(0, 1))
            for busy in self._busy.values():
                since = duration(self._clock.monotonic() - busy.since)
                text = shortened(busy.line.text, max(self._console.width - len(since) - 5, 20))
                table.add_row(self._spinner, text, Text(since, style="bright_black"))
            return Group(table)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the terminal back."""
        with self._screen:
            with self._state:
                self._busy.clear()
            self._stop()
