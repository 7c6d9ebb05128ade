"""One sandbox of process machines with a healthy stack, for all the tests that only look at it or log in to it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.access_cli.support import SPEC, STACK, Box
from tests.rehearse.support import ROOT, TIMEOUT_SECONDS, Sandbox, program


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A running sandbox, stopped and gone afterwards. The blank in its path is meant."""
    with started(tmp_path_factory.mktemp("a sandbox") / "state") as running:
        yield running


@pytest.fixture(scope="module")
def tls_box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """The machine of a stack whose public endpoint speaks https, in a sandbox of its own."""
    folder = tmp_path_factory.mktemp("tls")
    text = (ROOT / SPEC).read_text().replace("expose: tunnel", "expose: public\n  allow: [127.0.0.0/8]")
    (folder / "spec.yaml").write_text(text)
    with started(folder / "state") as running:
        running.run("up", str(folder / "spec.yaml"))
        yield Box(running, STACK)


@contextmanager
def started(state: Path) -> Iterator[Sandbox]:
    def command(*arguments: str) -> str:
        return subprocess.run(
            program("sandbox", *arguments, "--state", str(state), "--json"),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=True,
        ).stdout

    command("start", "--machines", "process")
    try:
        yield Sandbox(state, json.loads(command("env")))
    finally:
        command("stop")


@pytest.fixture(scope="session")
def box(sandbox: Sandbox) -> Box:
    """The machine of a stack that is up."""
    sandbox.run("up", SPEC)
    return Box(sandbox, STACK)
