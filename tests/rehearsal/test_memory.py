"""The memory formulas against real llama.cpp's own log: caches and state exact, compute buffers never under."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.rehearse.support import ROOT


@pytest.mark.parametrize(("words", "settings"), [([], 3), pytest.param(["--full"], 96, marks=pytest.mark.deep)])
def test_what_is_predicted_is_what_the_engine_allocates(words: list[str], settings: int) -> None:
    done = subprocess.run(
        [sys.executable, "bench/memory_against_engine.py", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert f"{settings} settings, 0 wrong" in done.stdout
