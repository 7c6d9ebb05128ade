"""One sandbox of process machines for all failures, and the table of how soon each was seen."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from deployer.rehearsal import sandbox
from tests.box.failures.lab import HELD_SECONDS, Lab, Outcome, engine_program
from tests.rehearse.support import Sandbox

_ROW = "failure row"


@pytest.fixture(autouse=True, scope="session")
def image() -> None:
    """Instead of the booted machines' fixture of this name: nothing is booted here."""


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("failures")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEPLOYER_LLAMA_SERVER", str(engine_program(folder)))
        # It ends with these tests, also when they are killed.
        info = sandbox.start(folder / "state", machines="process", parent_pid=os.getpid())
    made = Lab(folder, Sandbox(info.state_dir, info.env))
    try:
        yield made
    finally:
        for attempt in made.attempts:
            attempt.end()
        sandbox.stop(folder / "state")


@pytest.fixture
def row(record_property: Callable[[str, object], None]) -> Callable[[str, Outcome], None]:
    """`row(what was broken, outcome)` is a line of the table at the end."""

    def add(broken: str, outcome: Outcome) -> None:
        code = outcome.failed.get("code") or outcome.error["code"]
        took = outcome.failed.get("seconds")
        record_property(_ROW, [code, broken, outcome.seen_after, outcome.ended_after, took, outcome.code])

    return add


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The table."""
    rows = [
        value
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, ())
        for name, value in (report.user_properties if report.when == "call" else ())
        if name == _ROW
    ]
    if not rows:
        return
    terminalreporter.section("failures: seconds from `up` until the person saw it")
    terminalreporter.write_line(f"{'code':<20} {'what was broken':<58} {'seen':>7} {'ended':>7} {'phase':>7} exit")
    for code, broken, seen, ended, took, status in sorted(rows):
        phase = "" if took is None else f"{took:.1f}"
        terminalreporter.write_line(f"{code:<20} {broken:<58} {seen:7.1f} {ended:7.1f} {phase:>7} {status:>4}")
    terminalreporter.write_line(f"* its agent was held back for {HELD_SECONDS:.0f} s, to break the machine first")
