"""What the agent says: one JSON line for each event, on the serial console and on its own standard output."""

from __future__ import annotations

import errno
import os
import threading
import time
from types import TracebackType
from typing import Any

from .protocol import FAILURE_HINTS, AgentFailure, encode_line
from .stop import Stopped
from .text import clean, last_lines

#: Progress is said at most this often; the longer a phase takes, the rarer, so that a download of an hour does not
#: push the host keys out of the 64 KiB that GetConsoleOutput keeps.
PROGRESS_SECONDS = 2.0
#: errno of a disk that takes no more.
OUT_OF_SPACE = (errno.ENOSPC, errno.EDQUOT)


class Console:
    """Writes protocol lines; a secret that was named to `hide` never appears in one."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._secrets: list[str] = []

    def hide(self, secret: str) -> None:
        """From now on replace this text wherever it would be said."""
        if secret:
            self._secrets.append(secret)

    def say(self, phase: str, state: str, **fields: Any) -> None:
        """One line. A console that cannot be written is no reason to fail."""
        line = encode_line(phase, state, time.time(), **self._redact(fields)) + "\n"
        with self._lock:
            written = self._append(line.encode("ascii"))
            if not _same_file(1, written):
                _write(1, line.encode("ascii"))

    def _append(self, data: bytes) -> os.stat_result | None:
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOCTTY, 0o600)
        except OSError:
            return None
        try:
            _write(descriptor, data)
            return os.fstat(descriptor)
        finally:
            os.close(descriptor)

    def _redact(self, value: Any) -> Any:
        if isinstance(value, str):
            for secret in self._secrets:
                value = value.replace(secret, "[redacted]")
            return value
        if isinstance(value, dict):
            return {key: self._redact(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._redact(item) for item in value]
        return value


def _write(descriptor: int, data: bytes) -> None:
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except OSError:
        pass


def _same_file(descriptor: int, other: os.stat_result | None) -> bool:
    try:
        mine = os.fstat(descriptor)
    except OSError:
        return True
    return other is not None and (mine.st_dev, mine.st_ino) == (other.st_dev, other.st_ino)


class Phase:
    """One phase as a context manager: says start, then done, skipped or failed. What fails leaves as AgentFailure."""

    def __init__(self, console: Console, name: str) -> None:
        self.name = name
        self._console = console
        self._started = time.monotonic()
        self._last_said = self._started
        self._last_percent = 0
        self._state = "done"
        self._fields: dict[str, Any] = {}

    def __enter__(self) -> Phase:
        self._console.say(self.name, "start")
        return self

    def result(self, **fields: Any) -> None:
        """What the `done` line carries."""
        self._fields.update(fields)

    def skip(self, reason: str) -> None:
        """There was nothing to do here."""
        self._state = "skipped"
        self._fields["message"] = reason

    def note(self, message: str) -> None:
        """Something a person should read now."""
        self._console.say(self.name, "progress", message=clean(message, 400), seconds=self.seconds)

    def progress(self, message: str | None = None, done: int | None = None, total: int | None = None) -> None:
        """Say how far it is, unless it was just said. done, total: bytes."""
        now = time.monotonic()
        percent = None if done is None or not total else min(100, done * 100 // total)
        step = percent is not None and percent // 10 > self._last_percent // 10
        if not step and now - self._last_said < max(PROGRESS_SECONDS, (now - self._started) / 20):
            return
        self._last_said = now
        self._last_percent = percent or 0
        self._console.say(
            self.name, "progress", percent=percent, bytes=done, total_bytes=total, seconds=self.seconds, message=message
        )

    @property
    def seconds(self) -> float:
        """Since the phase began."""
        return round(time.monotonic() - self._started, 3)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._console.say(self.name, self._state, seconds=self.seconds, **self._fields)
        elif isinstance(error, Exception) and not isinstance(error, Stopped):
            failure = as_failure(self.name, error)
            say_failure(self._console, failure, self.seconds)
            raise failure from error


def as_failure(phase: str, error: Exception) -> AgentFailure:
    """Any exception as a typed failure."""
    if isinstance(error, AgentFailure):
        return error
    if isinstance(error, OSError) and error.errno in OUT_OF_SPACE:
        return AgentFailure(phase, "disk_full", "no space is left: %s" % error)
    return AgentFailure(phase, "agent_error", "%s: %s" % (type(error).__name__, error))


def say_failure(console: Console, failure: AgentFailure, seconds: float | None = None, state: str = "failed") -> None:
    """The line that explains a failure, or (state `restarting`) why the engine is started again."""
    console.say(
        failure.phase,
        state,
        code=failure.code,
        message=clean(failure.message, 600),
        hint=FAILURE_HINTS[failure.code],
        log=last_lines(failure.log) or None,
        seconds=seconds,
    )
