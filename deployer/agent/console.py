"""What the agent says: one JSON line for each event, on the serial console."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import threading
import time
from types import TracebackType
from typing import Any

from .protocol import AgentFailure, encode_line
from .stop import Stopped
from .text import clean

#: Progress is said at most this often; the longer a phase takes, the rarer, so that a download of an hour does not
#: push the host keys out of the 64 KiB that GetConsoleOutput keeps.
PROGRESS_SECONDS = 2.0
#: Log lines that go with a failure.
LOG_LINES = 20
MESSAGE_CHARACTERS = 600
#: errno of a disk that takes no more, by its size, a quota or a limit on files.
OUT_OF_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Console:
    """Writes protocol lines; a secret that was given to `hide` never appears in one."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._secrets: list[str] = []

    def hide(self, secret: str) -> None:
        """From now on replace this text wherever it would be said."""
        self._secrets.append(secret)

    def say(self, phase: str, state: str, message: str = "", log: list[str] | None = None, **fields: Any) -> None:
        """One line. message and log come raw; a console that cannot be written is no reason to fail."""
        line = encode_line(
            phase,
            state,
            time.time(),
            # Hidden before it is cut to length: a cut could leave half a secret.
            message=clean(self._hidden(message), MESSAGE_CHARACTERS) or None,
            log=[clean(self._hidden(line)) for line in (log or [])[-LOG_LINES:]] or None,
            **fields,
        )
        data = (self._hidden(line) + "\n").encode()
        with self._lock, contextlib.suppress(OSError):
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOCTTY, 0o600)
            with os.fdopen(descriptor, "wb", 0) as console:
                console.write(data)

    def _hidden(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "[redacted]").replace(json.dumps(secret)[1:-1], "[redacted]")
        return text

    def fail(self, failure: AgentFailure, state: str = "failed", **fields: Any) -> None:
        """The line that explains a failure, or (state `restarting`) why the engine is started again."""
        self.say(failure.phase, state, failure.message, failure.log, code=failure.code, **fields)


class Phase:
    """One phase as a context manager: says start, then done, skipped or failed. What fails leaves as AgentFailure."""

    def __init__(self, console: Console, name: str) -> None:
        self.name = name
        self.console = console
        self._started = self._said = time.monotonic()
        self._tenth = 0
        self._state = "done"
        self._fields: dict[str, Any] = {}
        self._notes: list[str] = []

    def __enter__(self) -> Phase:
        self.console.say(self.name, "start")
        return self

    def result(self, **fields: Any) -> None:
        """What the `done` line carries."""
        self._fields.update(fields)

    def skip(self, reason: str) -> None:
        """There was nothing to do here."""
        self._state = "skipped"
        self.result(message=reason)

    def note(self, message: str) -> None:
        """Something a person should read now, and again as the log of a failure that has none of its own."""
        self._notes = [*self._notes, message][-LOG_LINES:]
        self.console.say(self.name, "progress", message, seconds=self.seconds)

    def progress(self, message: str = "", done: int = 0, total: int | None = None) -> None:
        """Say how far it is, unless it was just said. done, total: bytes."""
        now = time.monotonic()
        percent = min(100, done * 100 // total) if total else None
        tenth = (percent or 0) // 10
        if tenth <= self._tenth and now - self._said < max(PROGRESS_SECONDS, (now - self._started) / 20):
            return
        self._said, self._tenth = now, tenth
        fields: dict[str, Any] = {"percent": percent, "bytes": done, "total_bytes": total} if total else {}
        self.console.say(self.name, "progress", message, seconds=self.seconds, **fields)

    @property
    def seconds(self) -> float:
        """Since the phase began."""
        return round(time.monotonic() - self._started, 3)

    def failure(self, code: str, message: str, log: list[str] | None = None) -> AgentFailure:
        """A typed failure of this phase, to be raised."""
        return AgentFailure(self.name, code, message, log)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.console.say(self.name, self._state, seconds=self.seconds, **self._fields)
        elif isinstance(error, Exception) and not isinstance(error, Stopped):
            if not isinstance(error, AgentFailure):
                full = isinstance(error, OSError) and error.errno in OUT_OF_SPACE
                code = "disk_full" if full else "agent_error"
                error = self.failure(code, "%s: %s" % (type(error).__name__, error))
            error.log = error.log or self._notes
            self.console.fail(error, seconds=self.seconds)
            raise error
