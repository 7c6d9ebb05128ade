"""Everything here is marked `crash`; what the tests measured is printed as a table at the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cloud.conftest import account, cloud
from tests.cloud.ec2.conftest import another_operator, operator, refused

__all__ = ["account", "another_operator", "cloud", "operator", "refused"]

_ROW = "crash row"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.crash)


@pytest.fixture
def row(record_property: Callable[[str, object], None]) -> Callable[..., None]:
    """`row(what, tried, good)` is a line of the table at the end; lines of the same `what` are added up."""

    def add(what: str, tried: int, good: int) -> None:
        record_property(_ROW, [what, tried, good])

    return add


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The table, added up over all workers."""
    table: dict[str, list[int]] = {}
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, ()):
            for name, value in getattr(report, "user_properties", ()):
                if name == _ROW and report.when == "call":
                    sums = table.setdefault(value[0], [0, 0])
                    sums[0] += value[1]
                    sums[1] += value[2]
    if not table:
        return
    width = max(len(what) for what in table)
    terminalreporter.section("what was broken, and held")
    for what in sorted(table):
        tried, good = table[what]
        terminalreporter.write_line(f"{what:<{width}}  {good:>4} of {tried:>4}")
