"""A sandbox whose stacks can be broken one by one, and `up` read line by line as a person at the screen reads it."""

from __future__ import annotations

import json
import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import boto3

from tests.rehearse.support import Sandbox
from tests.support.waiting import until
from tests.unit.agent.box import free_port

GPU_SPEC = "stacks/g5-27b-mtp.yaml"
CPU_SPEC = "stacks/c8i-27b-mtp.yaml"
#: Long enough for a step's own deadline (network 120 s) on a busy computer.
PATIENCE_SECONDS = 240.0
#: How long a machine's agent is held back, so that its disk can be broken before it looks.
HELD_SECONDS = 2.0

#: What every stack's llama-server is: what the folder says of its port is done first, then llama.cpp runs.
_PROGRAM = """#!/bin/sh
last=; port=
for word in "$@"; do [ "$last" = --port ] && port=$word; last=$word; done
[ -r {folder}/"$port" ] && . {folder}/"$port"
exec {engine} "$@"
"""


class Outcome(NamedTuple):
    """How an `up` ended. seen_after: seconds from its start until the failed phase stood on the screen, then its end.

    failed: the phase event, error: the document on stderr.
    """

    code: int
    events: list[dict[str, Any]]
    failed: dict[str, Any]
    error: dict[str, Any]
    seen_after: float
    ended_after: float

    @property
    def hint(self) -> str:
        """The first line of the error's hint: what to do about it."""
        return str(self.error.get("hint") or "").splitlines()[0]


class Attempt:
    """A running `up --json`."""

    def __init__(self, sandbox: Sandbox, arguments: Sequence[str]) -> None:
        self._began = time.monotonic()
        self._process = sandbox.start("up", *arguments, "--json")
        self._lines: list[tuple[float, dict[str, Any]]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.append((time.monotonic() - self._began, json.loads(line)))

    def said(self, **fields: object) -> bool:
        """Whether an event with these fields was printed."""
        return any(fields.items() <= event.items() for _, event in self._lines)

    def outcome(self) -> Outcome:
        """Wait for its end."""
        self._reader.join(PATIENCE_SECONDS)
        code = self._process.wait(10)
        ended = time.monotonic() - self._began
        assert self._process.stderr is not None
        err = self._process.stderr.read()
        self._process.stderr.close()
        assert code, "it went up"
        error = json.loads(err.splitlines()[-1])["error"]
        failed = [(at, event) for at, event in self._lines if event.get("state") == "failed" and "phase" in event]
        at, event = failed[0] if failed else (ended, {})
        return Outcome(code, [event for _, event in self._lines], event, error, at, ended)

    def end(self) -> None:
        """Whatever became of it."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(10)


@dataclass
class Stack:
    """One stack to be broken. spec: the file it comes from, the rest is --set and environment."""

    lab: Lab
    name: str
    spec: str = GPU_SPEC
    sets: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)

    def engine(self, script: str) -> None:
        """What llama-server does first from now on: lines of sh; "$@" are its arguments."""
        (self.lab.folder / str(self.port)).write_text(script + "\n")

    def up(self) -> Attempt:
        """Begin to bring it up."""
        sets = [f"name={self.name}", f"endpoint.port={self.port}", *self.sets]
        sandbox = Sandbox(self.lab.sandbox.state, {**self.lab.sandbox.env, **self.env})
        attempt = Attempt(sandbox, [self.spec, *(word for one in sets for word in ("--set", one))])
        self.lab.attempts.append(attempt)
        return attempt

    def hold(self, work: Callable[[Path], None]) -> Attempt:
        """Bring it up, and do something with the machine's folder before its agent gets its program."""
        self.lab.sandbox.ask(
            "faults",
            {
                "service": "ssm",
                "operation": "GetParameters",
                "delay_seconds": HELD_SECONDS,
                "where": {"Names": f"*/deployer/agents/{self.name}*"},
            },
        )
        attempt = self.up()
        until(lambda: self._folder() is not None, "the machine is there", seconds=30)
        folder = self.folder
        # Its programs are laid out when its agent is about to start.
        until(lambda: any(folder.glob("bin/deployer-agent*/llama-server")), "its agent starts", seconds=30)
        work(folder)
        return attempt

    @property
    def folder(self) -> Path:
        """Its machine's."""
        found = self._folder()
        assert found is not None
        return found

    def _folder(self) -> Path | None:
        for config in (self.lab.sandbox.state / "machines").glob("*/root/etc/deployer/agent.json"):
            text = config.read_text()
            if text and json.loads(text)["stack"] == self.name:
                return config.parents[3]
        return None


@dataclass
class Lab:
    """folder: what llama-server does, a file for each port."""

    folder: Path
    sandbox: Sandbox
    attempts: list[Attempt] = field(default_factory=list)

    def stack(self, name: str, spec: str = GPU_SPEC, *sets: str, **env: str) -> Stack:
        """A stack of its own name and port."""
        return Stack(self, name, spec, list(sets), env)

    def aws(self, service: str) -> Any:
        """A boto3 client of the sandbox's operator."""
        env = self.sandbox.env
        return boto3.client(
            service,
            endpoint_url=env["AWS_ENDPOINT_URL"],
            region_name=env["AWS_DEFAULT_REGION"],
            aws_access_key_id=env["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=env["AWS_SECRET_ACCESS_KEY"],
        )

    @contextmanager
    def broken(self, stack: Stack) -> Iterator[Attempt]:
        """Its `up`; the stack is taken down at the end."""
        try:
            yield stack.up()
        finally:
            self.down(stack)

    def down(self, stack: Stack) -> None:
        """Nothing of it is left, whatever it failed of."""
        self.sandbox.run("down", stack.name)


def engine_program(folder: Path) -> Path:
    """The llama-server of all machines."""
    engine = shlex.join([sys.executable, "-I", "-m", "deployer.rehearsal.engine.command"])
    program = folder / "llama-server"
    program.write_text(_PROGRAM.format(folder=shlex.quote(str(folder)), engine=engine))
    program.chmod(0o755)
    return program
