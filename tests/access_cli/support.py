"""A stack's machine as these tests need it: commands of the product, and its disk from outside."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.rehearse.support import ROOT, TIMEOUT_SECONDS, Sandbox, program
from tests.support.ssh_server import new_ed25519, public

STACK = "g5-27b-mtp"
SPEC = f"stacks/{STACK}.yaml"


@dataclass(frozen=True)
class Ran:
    code: int
    out: bytes
    err: bytes

    @property
    def error(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.err.splitlines()[-1])["error"]
        return found


@dataclass(frozen=True)
class Box:
    """The machine of one stack in a sandbox."""

    sandbox: Sandbox
    stack: str

    @property
    def root(self) -> Path:
        """Its disk."""
        (folder,) = (self.sandbox.state / "machines").iterdir()
        return folder / "root"

    @property
    def engine_log(self) -> Path:
        return self.root / "var/log/deployer/engine.log"

    def run(self, *arguments: str | bytes, stdin: bytes = b"", **env: str) -> Ran:
        """A command of the product."""
        done = subprocess.run(
            [*program(), *arguments],
            cwd=ROOT,
            env={**os.environ, **self.sandbox.env, **env},
            input=stdin,
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    @contextmanager
    def another_host_key(self) -> Iterator[str]:
        """The console says another key than the one that the machine's ssh server shows; gives that key."""
        console = self.root / "dev/console"
        length, key = console.stat().st_size, public(new_ed25519())
        with console.open("a") as file:
            file.write(f"-----BEGIN SSH HOST KEY KEYS-----\n{key} root@box\n-----END SSH HOST KEY KEYS-----\n")
        try:
            yield key
        finally:
            os.truncate(console, length)
