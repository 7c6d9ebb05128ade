"""Both logs as they grow, each followed by a thread of its own: a dead connection does not silence the other."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

from deployer.access.errors import SshError
from deployer.access.files import GrowingFile
from deployer.errors import DeployerError
from deployer.events import Event
from deployer.targets.logs import Logs, Reader, Want, unreadable, unwritten

#: How often the engine's log is asked for, and how long a broken connection rests before the next try. Seconds.
_ENGINE_SECONDS = 1.0
_RETRY_SECONDS = 5.0
#: How soon `stop` is noticed, in seconds.
_STOP_SECONDS = 0.2

Out = queue.SimpleQueue[Event | Exception]


def follow(logs: Logs, want: Want, stop: threading.Event) -> Iterator[Event]:
    """What there is, then what comes, until `stop` is set. A log that cannot be read now is tried again.

    Raises SshError when only the engine's log is wanted and no later try can work either.
    """
    reader = Reader(logs, want)
    out: Out = queue.SimpleQueue()
    if want.console != "none":
        _start(out, lambda: _follow_console(logs, reader, out, stop))
    if want.engine:
        _start(out, lambda: _follow_engine(logs, reader, out, stop, alone=want.console == "none"))
    while not stop.is_set():
        with suppress(queue.Empty):
            match out.get(timeout=_STOP_SECONDS):
                case Event() as event:
                    yield event
                case error:
                    raise error


def _start(out: Out, work: Callable[[], None]) -> None:
    def guarded() -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 — carried over to the thread that reads the queue
            out.put(error)

    threading.Thread(target=guarded, name="logs", daemon=True).start()


class _Once:
    """Puts a warning when it is not the one that was put last."""

    def __init__(self, out: Out) -> None:
        self._out = out
        self._said: Event | None = None

    def say(self, warning: Event | None) -> None:
        if warning is not None and warning != self._said:
            self._out.put(warning)
        self._said = warning


def _follow_console(logs: Logs, reader: Reader, out: Out, stop: threading.Event) -> None:
    warning = _Once(out)
    while not stop.is_set():
        try:
            events = reader.console()
        except DeployerError as error:
            warning.say(unreadable("console", error))
        else:
            warning.say(None)
            for event in events:
                out.put(event)
        stop.wait(logs.poll_seconds)


def _follow_engine(logs: Logs, reader: Reader, out: Out, stop: threading.Event, *, alone: bool) -> None:
    warning = _Once(out)
    file: GrowingFile | None = None
    while not stop.is_set():
        try:
            file = file or logs.open_engine()
            events = reader.engine(file)
        except DeployerError as error:
            if file is not None:
                file.close()
            file = None
            final = isinstance(error, SshError) and not error.passing
            if final and alone:
                raise
            warning.say(unreadable("engine log", error))
            if final:
                return
            stop.wait(_RETRY_SECONDS)
            continue
        warning.say(unwritten(logs) if events is None else None)
        for event in events or ():
            out.put(event)
        stop.wait(_ENGINE_SECONDS)
    if file is not None:
        file.close()
