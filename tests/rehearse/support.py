"""A sandbox as a person has it: started by the command, used from shells of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_SECONDS = 120


def program(*arguments: str) -> list[str]:
    """The command line of the product."""
    return [sys.executable, "-m", "deployer", *arguments]


@dataclass(frozen=True)
class Sandbox:
    """state: its directory. env: what `deployer sandbox env --json` printed."""

    state: Path
    env: dict[str, str]

    @property
    def url(self) -> str:
        return self.env["AWS_ENDPOINT_URL"]

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        """Start a command of the product in a shell of its own."""
        return subprocess.Popen(
            program(*arguments),
            env={**os.environ, **self.env},
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            **options,
        )

    def run(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        """Run a command to its end and expect its exit code; its output and errors."""
        with self.start(*arguments) as process:
            out, err = process.communicate(timeout=TIMEOUT_SECONDS)
        assert process.returncode == code, f"{arguments}: {process.returncode}\n{out}\n{err}"
        return out, err

    def ask(self, path: str, body: object = None) -> Any:
        """The sandbox's control interface."""
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(f"{self.url}/_sandbox/{path}", data, timeout=30) as answer:
            return json.load(answer)

    def status(self) -> dict[str, list[str]]:
        """What `deployer sandbox status --json` prints."""
        out, _ = self.run("sandbox", "status", "--json", "--state", str(self.state))
        found: dict[str, list[str]] = json.loads(out)
        return found

    def calls(self, operation: str) -> list[dict[str, Any]]:
        """Every AWS call of that operation so far."""
        return [call for call in self.ask("calls")["calls"] if call["operation"] == operation]


def events_of(out: str) -> list[dict[str, Any]]:
    """JSON lines."""
    return [json.loads(line) for line in out.splitlines()]
