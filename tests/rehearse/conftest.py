"""A sandbox as a person has it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rehearse.support import ROOT, TIMEOUT_SECONDS, Sandbox, program


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    """A running sandbox, stopped and gone afterwards."""
    state = tmp_path / "sandbox"

    def command(*arguments: str) -> str:
        done = subprocess.run(
            program("sandbox", *arguments, "--state", str(state), "--json"),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    command("start", "--machines", "process")
    try:
        yield Sandbox(state, json.loads(command("env")))
    finally:
        command("stop")
