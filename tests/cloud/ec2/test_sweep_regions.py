"""`sweep` of several regions, with what the orphans cost; one region that refuses keeps no other from being swept."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from deployer.catalog import prices
from deployer.catalog.prices import Price
from deployer.cli.app import run
from deployer.reconcile import orphans
from tests.cloud.ec2 import crashing
from tests.cloud.ec2.support import REGION


@pytest.fixture
def left_behind(operator: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An `up` that was killed right after its launch, long ago; an hour of the type costs 9.5."""
    price = Price("CNY", "on-demand", 0.0, 9.5, "a list", "2026-12-01")
    monkeypatch.setattr(prices, "_instances", lambda: {("g5.xlarge", REGION, "on-demand"): price})
    assert crashing.run(dict(operator.settings.environ), "up", at="RunInstances", side="after") == crashing.KILLED
    monkeypatch.setattr(orphans, "GRACE_SECONDS", -1.0)
    # The killed one's lease: nobody holds it any more.
    later = time.time() + 24 * 3600
    monkeypatch.setattr("deployer.clock.SystemClock.now", lambda _self: later)
    return operator


def _said(capsys: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_dry_run_over_all_regions_says_the_cost_and_deletes_nothing(left_behind: Any, capsys: Any) -> None:
    before = left_behind.resources()
    assert run(["sweep", "--all-regions", "--dry-run", "--json"]) == 0
    [document] = _said(capsys)
    [orphan] = document["orphans"]
    assert (orphan["stack"], orphan["region"]) == ("demo", REGION)
    assert (orphan["per_hour"], orphan["currency"]) == (9.5, "CNY")
    assert orphan["age_seconds"] > 3600
    assert left_behind.resources() == before
    assert run(["sweep", "--dry-run"]) == 0
    assert "CNY 9.50" in capsys.readouterr().out


def test_a_region_that_refuses_is_told_and_the_other_is_swept(left_behind: Any, capsys: Any) -> None:
    left_behind.fault(operation="DescribeInstances", code="UnauthorizedOperation", times=1)
    code = run(["sweep", "--region", "cn-north-1", "--region", REGION, "--yes", "--json"])
    said = _said(capsys)
    assert code == 3
    assert [one["region"] for one in said if one.get("event") == "sweep.summary"] == [REGION]
    assert any("cn-north-1 was not looked at" in str(one.get("message")) for one in said)
    assert left_behind.resources() == []


@pytest.mark.parametrize("words", [["--all-regions", "--region", REGION], ["--dry-run", "--yes"]])
def test_what_contradicts_itself_is_refused(words: list[str]) -> None:
    assert run(["sweep", *words]) == 2
