"""What a stack has said: the machine's console and the engine's log, as `log` events, once or as they grow."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from deployer.access.files import GrowingFile
from deployer.agent.protocol import FAILURE_HINTS, decode_line
from deployer.errors import DeployerError
from deployer.events import Event
from deployer.targets.log_tails import ConsoleTail, FileTail, last

#: The form of every key that access.secrets makes, for a key that cannot be read to compare.
_KEY_FORM = re.compile(r"\bsk-[A-Za-z0-9_-]{43}")
_HIDDEN = "[API key]"


@dataclass(frozen=True)
class Logs:
    """machine: its name for people. console: the newest text. open_engine: the engine's log; the caller closes it.

    api_key: never shown. poll_seconds: how often the console is worth asking for.
    """

    machine: str
    console: Callable[[], str]
    open_engine: Callable[[], GrowingFile]
    api_key: str | None
    poll_seconds: float


@dataclass(frozen=True)
class Want:
    """console: everything on it, or only what the agent says (while it has said anything). lines: of each log."""

    console: Literal["all", "agent", "none"] = "agent"
    engine: bool = True
    lines: int = 40


class Reader:
    """Gives what is new, as events; the same object is asked again while following."""

    def __init__(self, logs: Logs, want: Want) -> None:
        self._logs = logs
        self._want = want
        self._console = ConsoleTail()
        self._engine = FileTail(want.lines)
        self._began = False

    def console(self, *, final: bool = False) -> list[Event]:
        """The console's lines that no earlier call gave; final: also the one that has no end yet.

        Raises what asking for the console raises.
        """
        text = self._logs.console()
        if final and text and not text.endswith("\n"):
            text += "\n"
        events = [self._event(line) for line in self._console.take(text)]
        agent = [event for event in events if event.fields["source"] == "agent"]
        if self._want.console == "agent" and (agent or self._began):
            events = agent
        if not self._began:
            events = last(events, self._want.lines)
        self._began = self._began or bool(events)
        return events

    def engine(self, file: GrowingFile) -> list[Event] | None:
        """The whole lines that no earlier call gave; None while there is no log."""
        lines = self._engine.take(file)
        return None if lines is None else [self._line("engine", line) for line in lines]

    def rest(self) -> list[Event]:
        """A last line of the engine's log that has no end yet."""
        return [self._line("engine", line) for line in self._engine.rest()]

    def _event(self, line: str) -> Event:
        body = decode_line(self._redacted(line))
        if body is None:
            return self._line("console", line)
        if body["state"] == "failed" and body.get("code") in FAILURE_HINTS:
            # The agent leaves out what the client knows.
            body = {"hint": FAILURE_HINTS[body["code"]], **body}
        return Event("log", {"source": "agent", **body})

    def _line(self, source: str, line: str) -> Event:
        return Event("log", {"source": source, "line": self._redacted(line)})

    def _redacted(self, line: str) -> str:
        key = self._logs.api_key
        return _KEY_FORM.sub(_HIDDEN, line.replace(key, _HIDDEN) if key else line)


def read(logs: Logs, want: Want) -> Iterator[Event]:
    """What there is now. A log that cannot be read is a `warning` beside the other, an error when alone."""
    reader = Reader(logs, want)
    if want.console != "none":
        try:
            events = reader.console(final=True)
        except DeployerError as error:
            if not want.engine:
                raise
            yield unreadable("console", error)
        else:
            yield from events or [silent(logs)]
    if want.engine:
        try:
            yield from _engine(logs, reader)
        except DeployerError as error:
            if want.console == "none":
                raise
            yield unreadable("engine log", error)


def unreadable(what: str, error: DeployerError) -> Event:
    """The warning that a log cannot be read, and why."""
    where = f" ({error.where})" if error.where else ""
    return Event("warning", {"message": f"the {what} cannot be read: {error.message}{where}", "hint": error.hint})


def silent(logs: Logs) -> Event:
    """The warning that the console is empty."""
    return Event("warning", {"message": f"the console of {logs.machine} shows nothing yet", "hint": None})


def unwritten(logs: Logs) -> Event:
    """The warning that the engine never started."""
    return Event("warning", {"message": f"the engine of {logs.machine} has written no log yet", "hint": None})


def _engine(logs: Logs, reader: Reader) -> list[Event]:
    file = logs.open_engine()
    try:
        events = reader.engine(file)
        return [unwritten(logs)] if events is None else events + reader.rest()
    finally:
        file.close()
