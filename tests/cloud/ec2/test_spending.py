"""What a stack has cost: told by `ls`, and by `down` before it goes; not knowing it changes nothing."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from deployer.catalog import prices
from deployer.catalog.prices import Price
from deployer.cli.app import run
from deployer.events import ignore
from deployer.targets.ec2_status import every_stack
from tests.cloud.ec2.support import REGION

_TYPE = "g5.xlarge"


@pytest.fixture
def priced(monkeypatch: pytest.MonkeyPatch) -> None:
    """The embedded AWS and the dated file know what an hour costs."""
    price = Price("CNY", "on-demand", 0.0, 6.5, "a list", "2026-12-01")
    monkeypatch.setattr(prices, "_instances", lambda: {(_TYPE, REGION, "on-demand"): price})


def _spoken(capsys: Any) -> dict[str, Any]:
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    [spent] = [line for line in lines if line.get("event") == "spent"]
    assert lines[-1]["event"] == "down.summary" and lines[-1]["remaining"] == []
    return dict(spent)


def test_two_hours_later(operator: Any, priced: None) -> None:
    operator.up()
    [stack] = every_stack(operator.aws, ignore, time.time() + 7200)
    assert stack.spent.amount == pytest.approx(13.0, abs=0.1)
    assert stack.spent.hours == pytest.approx(2.0, abs=0.02)
    assert (stack.spent.currency, stack.spent.tokens) == ("CNY", None)
    assert "pricing API" in stack.spent.source
    operator.down()


def test_ls_without_a_known_price(operator: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(prices, "_instances", dict)
    operator.up()
    capsys.readouterr()
    assert run(["ls"]) == 0
    assert "unknown" in capsys.readouterr().out
    operator.down()


def test_down_says_it_and_takes_everything(operator: Any, priced: None, capsys: Any) -> None:
    operator.up()
    assert run(["down", "demo", "--json"]) == 0
    spent = _spoken(capsys)
    assert (spent["stack"], spent["currency"], spent["priced"]) == ("demo", "CNY", True)
    assert spent["hours"] >= 0 and spent["amount"] is not None
    assert operator.resources() == []


def test_a_price_list_that_nobody_can_read_keeps_nothing(
    operator: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr("deployer.aws.prices.of_terms", lambda *_: [{}["a key of another format"]])
    price = Price("CNY", "on-demand", 0.0, 6.5, "a list", "2026-12-01")
    monkeypatch.setattr(prices, "_instances", lambda: {(_TYPE, REGION, "on-demand"): price})
    operator.up()
    assert run(["down", "demo", "--json"]) == 0
    assert operator.resources() == []


@pytest.mark.parametrize("operation", ["GetProducts", "DescribeInstances"])
def test_who_may_not_ask_still_takes_it_away(operator: Any, priced: None, capsys: Any, operation: str) -> None:
    operator.up()
    operator.fault(operation=operation, code="AccessDeniedException", times=1)
    capsys.readouterr()
    assert run(["down", "demo", "--json"]) == 0
    said = capsys.readouterr().out
    assert '"down.summary"' in said
    assert ("a list (2026-12-01)" in said) == (operation == "GetProducts"), "the dated price stands in"
    assert operator.resources() == []


def test_a_plan_with_dated_prices_says_why(operator: Any) -> None:
    operator.fault(operation="GetProducts", code="AccessDeniedException", times=1)
    checks = {check.name: check for check in operator.target().preflight(operator.deployment()).checks}
    assert checks["prices"].verdict == "warn" and "dated ones instead" in checks["prices"].text
    assert "prices" not in {check.name for check in operator.target().preflight(operator.deployment()).checks}
