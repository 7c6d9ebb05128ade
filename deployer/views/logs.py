"""Log lines for people: the agent's phases with their times, everything else as it was written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, tzinfo
from types import TracebackType
from typing import Self, TextIO

from deployer.events import Event, Json
from deployer.views.documents import print_document
from deployer.views.lines import SYMBOLS, Mark, line_of

#: Escape sequences and other control characters: a log must not be able to steer the terminal that shows it.
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_DIM = "\x1b[2m"
_RESET = "\x1b[0m"
_COLOURS: dict[Mark, str] = {"fail": "\x1b[31m", "warn": "\x1b[33m", "done": "\x1b[32m"}


class LogView:
    """A View for `log` events. Warnings go to `errors`, so that a pipe gets the logs alone.

    named: say which log a line is from. zone: of the times shown, None for this machine's.
    """

    def __init__(
        self, stream: TextIO, errors: TextIO, *, colour: bool, named: bool, zone: tzinfo | None = None
    ) -> None:
        self._stream = stream
        self._errors = errors
        self._colour = colour
        self._named = named
        self._zone = zone

    def emit(self, event: Event) -> None:
        """Write a log line, or a warning."""
        match event.name:
            case "log":
                self._stream.write("".join(f"{line}\n" for line in self._lines(event.fields)))
                self._stream.flush()
            case "warning":
                self._stream.flush()
                hint = f" ({event.fields['hint']})" if event.fields.get("hint") else ""
                self._errors.write(f"{self._paint('! ', 'warn')}{event.fields['message']}{hint}\n")
                self._errors.flush()
            case _:
                pass

    def show(self, document: Event) -> None:
        """Print a document as text."""
        print_document(document, self._stream, colour=self._colour, width=None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is held back, so nothing is left to write."""

    def _lines(self, fields: Mapping[str, Json]) -> list[str]:
        if fields["source"] == "agent":
            return self._agent(fields)
        text = _CONTROL.sub("", str(fields["line"]))
        name = f"{fields['source']}| " if self._named else ""
        return [self._dim(name + text) if fields["source"] == "console" else self._dim(name) + text]

    def _agent(self, fields: Mapping[str, Json]) -> list[str]:
        """`2026-01-02 03:04:05 ✔ weights 17 GiB  9.0 s`; a failure with its log lines and its hint below."""
        line = line_of(Event("phase", fields))
        assert line is not None
        when = self._time(fields.get("ts"))
        text = _CONTROL.sub("", line.text)
        more = [f"    | {_CONTROL.sub('', entry)}" for entry in line.more]
        if fields.get("hint"):
            more.append(f"    hint: {_CONTROL.sub('', str(fields['hint']))}")
        return [f"{self._dim(when)} {self._paint(SYMBOLS[line.mark], line.mark)} {text}", *more]

    def _time(self, ts: Json) -> str:
        try:
            seconds = float(ts) if isinstance(ts, int | float) else 0.0
            return datetime.fromtimestamp(seconds, self._zone).strftime("%Y-%m-%d %H:%M:%S")
        except (ValueError, OverflowError, OSError):
            return "at no known time   "

    def _dim(self, text: str) -> str:
        return f"{_DIM}{text}{_RESET}" if self._colour and text else text

    def _paint(self, text: str, mark: Mark) -> str:
        return f"{_COLOURS[mark]}{text}{_RESET}" if self._colour and mark in _COLOURS else text
