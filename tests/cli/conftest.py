"""The program as a person runs it: a process of its own, in an empty directory, with nothing configured."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_SECONDS = 60


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
            [sys.executable, "-m", "deployer", *arguments],
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


@pytest.fixture
def deployer(tmp_path: Path) -> Program:
    return Program(tmp_path, {"DEPLOYER_HOME": str(tmp_path / "home")})


@dataclass
class Listener:
    """Counts connections to a loopback port and answers none of them."""

    url: str
    connections: list[object]


@pytest.fixture
def aws_that_counts(deployer: Program) -> Iterator[Listener]:
    """Credentials and an AWS endpoint that would be called if anything called AWS."""
    server = socket.create_server(("127.0.0.1", 0))
    found = Listener(f"http://127.0.0.1:{server.getsockname()[1]}", [])

    def accept() -> None:
        while True:
            try:
                client, address = server.accept()
            except OSError:
                return
            found.connections.append(address)
            client.close()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    deployer.env |= {
        "AWS_ENDPOINT_URL": found.url,
        "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "example",
        "AWS_REGION": "cn-northwest-1",
    }
    yield found
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join()


@pytest.fixture
def shipped(deployer: Program) -> str:
    """The path of a valid EC2 spec."""
    return str(ROOT / "stacks/g5-27b-mtp.yaml")
