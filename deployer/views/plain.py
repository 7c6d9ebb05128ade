"""Events as plain lines, for pipes and logs: no colour, no cursor movement, every line said once."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self, TextIO

from deployer.events import Event
from deployer.views.documents import print_document
from deployer.views.lines import SYMBOLS, Line, line_of

#: Pipes have no width; this keeps a plan's table on one line each in a CI log.
WIDTH = 120

#: A download writes a line when it passes a multiple of this.
_PROGRESS_STEP_PERCENT = 25


class PlainView:
    """Writes a line when something changed; a wait that repeats itself is written once.

    Progress of a phase waits for what comes next: a console read late tells hours in one go, and of a phase that is
    done by then nobody needs the way.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._said: dict[str, str] = {}
        self._last = ""
        self._events: list[Event] = []
        self._progress: dict[str, Line] = {}

    def emit(self, event: Event) -> None:
        """Write the event's line, unless the same was just said about the same thing."""
        with self._lock:
            self._events.append(event)
            line = line_of(event)
            progress = event.name == "phase" and event.fields.get("state") == "progress"
            if event.name != "phase":
                self._write_progress()
            elif line is not None and not progress:
                self._progress.pop(line.key, None)
            if line is not None and self._is_news(event, line):
                if progress:
                    self._progress[line.key] = line
                else:
                    self._write(line)
            if event.name == "rehearsal.summary":
                from deployer.views.rehearsal import print_report

                print_report(self._events, self._stream, colour=False, width=WIDTH)
            self._stream.flush()

    def _write(self, line: Line) -> None:
        shown = [f"{SYMBOLS[line.mark]} {line.text}", *(f"    {text}" for text in line.more)]
        self._stream.write("\n".join(shown) + "\n")

    def _write_progress(self) -> None:
        for line in self._progress.values():
            self._write(line)
        self._progress.clear()

    def _is_news(self, event: Event, line: Line) -> bool:
        """Is this worth a line? Not a phase that only began, nor progress of a few percent, nor the same again."""
        said = line.mark + line.text
        mark = said
        if event.name == "phase" and event.fields.get("state") in ("start", "progress"):
            percent = event.fields.get("percent")
            if not isinstance(percent, int | float):
                return False
            mark = f"{percent // _PROGRESS_STEP_PERCENT}"
        news = self._said.get(line.key) != mark and self._last != said
        self._said[line.key] = mark
        self._last = said
        return news

    def show(self, document: Event) -> None:
        """Print a document as text."""
        with self._lock:
            self._write_progress()
            print_document(document, self._stream, colour=False, width=WIDTH)
            self._stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write what is held back."""
        with self._lock:
            self._write_progress()
            self._stream.flush()
