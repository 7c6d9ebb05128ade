"""The program as a person runs it: a process of its own, in an empty directory, with nothing configured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_SECONDS = 60


def program(*arguments: str) -> list[str]:
    """The command line of the product."""
    return [sys.executable, "-m", "deployer", *arguments]


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        return json.loads(self.err)["error"]


@dataclass
class Program:
    """Runs `python -m deployer`. env is laid over the test session's own, which holds no AWS setting."""

    directory: Path
    env: dict[str, str] = field(default_factory=dict)

    def __call__(self, *arguments: str, **env: str) -> Ran:
        done = subprocess.run(
            program(*arguments),
            cwd=self.directory,
            env={**os.environ, **self.env, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def write(self, name: str, text: str) -> str:
        (self.directory / name).write_text(text, encoding="utf-8")
        return name
