"""Fixtures of the command line tests."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.support import ROOT, Program


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
