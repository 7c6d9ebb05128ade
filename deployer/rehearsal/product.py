"""The unmodified product as a child process: run a command with --json, pass its events on, keep its error."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deployer.errors import DeployerError

#: How long a command may take to end after it was asked to, in seconds.
_END_SECONDS = 20.0

#: Variables of the person's own set-up that must not reach the rehearsed product.
_PRIVATE_PREFIXES = ("AWS_", "DEPLOYER_")
_PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy", "no_proxy"})
_KEPT = frozenset({"DEPLOYER_LLAMA_SERVER"})

OnObject = Callable[[dict[str, Any]], None]


class StepFailed(DeployerError):
    """A command of the product failed inside a rehearsal; it carries that command's own error and exit code."""

    code = "rehearsal"

    def __init__(self, message: str, *, exit_code: int, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, where=where, hint=hint)
        self.exit_code = exit_code


@dataclass(frozen=True)
class Outcome:
    """objects: the JSON lines on stdout. error: the inner object of the JSON error on stderr. seconds: wall time."""

    command: str
    exit_code: int
    objects: tuple[dict[str, Any], ...]
    error: Mapping[str, Any] | None
    stderr: str

    def require(self) -> Outcome:
        """Give this outcome, or raise the command's error as StepFailed."""
        if self.exit_code == 0:
            return self
        error = self.error or {}
        raise StepFailed(
            str(error.get("message") or f"`deployer {self.command}` ended with {self.exit_code}: {self.stderr[-400:]}"),
            exit_code=self.exit_code,
            where=error.get("where") or f"deployer {self.command}",
            hint=error.get("hint"),
        )

    def last(self, event: str) -> dict[str, Any]:
        """The last object of that event name, empty when it never came."""
        return next((o for o in reversed(self.objects) if o.get("event") == event), {})


def environment(own: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """The person's environment without their AWS, deployer and proxy settings, plus what the sandbox gives."""
    kept = {
        name: value
        for name, value in own.items()
        if name in _KEPT or not (name.startswith(_PRIVATE_PREFIXES) or name.lower() in _PROXIES)
    }
    return {**kept, **given}


@dataclass
class Product:
    """Runs `python -m deployer ...` in one environment and directory."""

    env: Mapping[str, str]
    directory: Path
    _running: list[subprocess.Popen[str]] = field(default_factory=list)

    def run(self, *arguments: str, on_object: OnObject | None = None) -> Outcome:
        """Run a command to its end. on_object gets each JSON line when it comes. Ctrl-C ends the command first."""
        with self._start(arguments) as process:
            errors: list[str] = []
            reader = threading.Thread(target=_collect, args=(process.stderr, errors), daemon=True)
            reader.start()
            objects = []
            for body in _objects(process):
                objects.append(body)
                if on_object is not None:
                    on_object(body)
            process.wait()
            reader.join()
        stderr = "".join(errors)
        return Outcome(arguments[0], process.returncode, tuple(objects), _error_in(stderr), stderr)

    @contextlib.contextmanager
    def held_open(self, *arguments: str) -> Iterator[dict[str, Any]]:
        """Start a command that stays, give its first JSON line, end it with Ctrl-C afterwards.

        Raises StepFailed when it ends before it said anything, or ends with an error after Ctrl-C.
        """
        with self._start(arguments) as process:
            errors: list[str] = []
            reader = threading.Thread(target=_collect, args=(process.stderr, errors), daemon=True)
            reader.start()
            first = next(_objects(process), None)
            if first is None:
                process.wait()
                reader.join()
                stderr = "".join(errors)
                outcome = Outcome(arguments[0], process.returncode or 1, (), _error_in(stderr), stderr)
                outcome.require()
            assert first is not None
            yield first
            _end(process)
            reader.join()
            stderr = "".join(errors)
            Outcome(arguments[0], process.returncode, (first,), _error_in(stderr), stderr).require()

    @contextlib.contextmanager
    def _start(self, arguments: tuple[str, ...]) -> Iterator[subprocess.Popen[str]]:
        """A child in a session of its own, so that Ctrl-C on the terminal reaches it only through us."""
        process = subprocess.Popen(
            [sys.executable, "-m", "deployer", *arguments, "--json"],
            env=dict(self.env),
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        try:
            yield process
        finally:
            _end(process)
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()


def _objects(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    assert process.stdout is not None
    for line in process.stdout:
        with contextlib.suppress(ValueError):
            body = json.loads(line)
            if isinstance(body, dict):
                yield body


def _collect(stream: Any, into: list[str]) -> None:
    into.extend(stream)


def _error_in(stderr: str) -> Mapping[str, Any] | None:
    for line in reversed(stderr.splitlines()):
        with contextlib.suppress(ValueError, AttributeError):
            inner = json.loads(line).get("error")
            if isinstance(inner, dict):
                return inner
    return None


def _end(process: subprocess.Popen[str]) -> None:
    """Ctrl-C first, which lets the product say what exists; then by force."""
    if process.poll() is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGINT)
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
