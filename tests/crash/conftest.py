"""Everything here is marked `crash`; what the tests measured is printed as a table at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deployer.clock import Clock
from deployer.rehearsal.cloud import Cloud
from tests.cloud.conftest import INSTANT, fresh_account, settled_heap
from tests.cloud.ec2.conftest import operator
from tests.crash.operating import VERBS, Account, Verb

__all__ = ["operator"]

_ROW = "crash row"
_SILENCE = "crash silence"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.crash)


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    """The account of `operator`, which only gives the environment here."""
    settled_heap()
    made = Cloud(account=fresh_account(), options=INSTANT)
    yield made
    made.close()


@pytest.fixture
def account(operator: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Account]]:
    """`account(verb)` is a fresh one, and boto3 is pointed at it; `operator` gives the rest of the environment."""
    made: list[Account] = []

    def make(verb: Verb, *, clock: Clock | None = None, **options: Any) -> Account:
        cloud = Cloud(account=fresh_account(), options=INSTANT)
        monkeypatch.setenv("AWS_ENDPOINT_URL", cloud.url)
        made.append(Account(cloud, tmp_path / str(len(made)), verb, clock))
        cloud.world.options = INSTANT.changed(options)
        return made[-1]

    yield make
    for one in made:
        one.cloud.close()


@pytest.fixture(params=VERBS)
def verb(request: pytest.FixtureRequest) -> Verb:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def calls(account: Callable[..., Account], verb: Verb) -> list[tuple[str, str]]:
    """What the verb asks AWS, in order."""
    first = account(verb)
    before = len(first.cloud.record.calls(0))
    first.act()
    made = [(call["service"], call["operation"]) for call in first.cloud.record.calls(0)[before:]]
    return list(dict.fromkeys(made))


@pytest.fixture
def row(record_property: Callable[[str, object], None]) -> Callable[..., None]:
    """`row(what, tried, good)` is a line of the table at the end; lines of the same `what` are added up."""

    def add(what: str, tried: int, good: int) -> None:
        record_property(_ROW, [what, tried, good])

    return add


@pytest.fixture
def silent(record_property: Callable[[str, object], None]) -> Callable[[float], None]:
    """`silent(seconds)`: so long did a verb wait without an event, on its own clock."""
    return lambda seconds: record_property(_SILENCE, seconds)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The table, added up over all workers."""
    table: dict[str, list[int]] = {}
    silence = 0.0
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, ()):
            for name, value in report.user_properties if report.when == "call" else ():
                if name == _ROW:
                    sums = table.setdefault(value[0], [0, 0])
                    sums[0] += value[1]
                    sums[1] += value[2]
                elif name == _SILENCE:
                    silence = max(silence, value)
    if not table:
        return
    kills = {what: sums for what, sums in table.items() if what.startswith("kill")}
    totals = {
        "kills in all": [sum(column) for column in zip(*kills.values(), strict=True)],
        "faults in all": [sum(column) for column in zip(*(table[w] for w in table.keys() - kills.keys()), strict=True)],
    }
    width = max(len(what) for what in table)
    terminalreporter.section("what was broken, and held")
    for what, sums in (*sorted(table.items()), *totals.items()):
        if sums:
            terminalreporter.write_line(f"{what:<{width}}  {sums[1]:>4} of {sums[0]:>4}")
    if silence:
        terminalreporter.write_line(f"longest wait without an event: {silence:.0f} s")
