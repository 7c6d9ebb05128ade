"""Prices, advice and what plan says of money; the article's own numbers come out."""

from __future__ import annotations

import pytest

from deployer.aws.prices import of_terms
from deployer.catalog import prices
from deployer.decide.advice import Wish, advise, candidates, option_document, spec_text
from deployer.decide.decide import plan_document, refuse_if_unfit
from deployer.decide.money import speed_of, spent
from deployer.errors import RefusedError
from deployer.views.plan import plan_lines
from deployer.views.table import Page
from tests.unit.decide.helpers import decided, load

_SAID = ("this stack", "tried first", "without spot capacity")


def ranked(**wishes):
    wish = Wish(market="reserved-1y", **wishes)
    names = [one.name for one in candidates(wish)]
    dated = {name: p for name in names if (p := prices.hourly(name, "cn-northwest-1", "reserved-1y"))}
    return [option_document(option) for option in advise(wish, dated)], advise(wish, dated), wish


def test_the_articles_prices_of_a_million_tokens() -> None:
    rows, options, wish = ranked()
    cost = {(row["instance"], row["model"]): row["per_million_tokens"] for row in rows}
    assert cost["c8g.4xlarge", "Qwen3.6-35B-A3B"] == 7.41
    assert cost["c8i.4xlarge", "Qwen3.6-35B-A3B"] == 25.32
    assert cost["g5.xlarge", "Qwen3.6-27B"] == 22.98
    assert (rows[0]["instance"], rows[0]["model"]) == ("c8g.4xlarge", "Qwen3.6-35B-A3B")
    assert rows[0]["per_million_tokens_at"] == {"10%": 74.12, "30%": 24.71, "50%": 14.82, "100%": 7.41}
    load(spec_text(options[0], "best", "cn-northwest-1", wish))


def test_limits_are_said_and_unknown_is_not_zero() -> None:
    rows, _, _ = ranked(budget=1000.0, least_speed=20.0, gpu=False, quotas={False: None})
    assert all(row["build"] != "cuda" for row in rows)
    assert [row["instance"] for row in rows if not row["why_not"]] == ["c8g.4xlarge"]
    assert any("price unknown" in row["why_not"] for row in rows)
    refused, _, _ = ranked(quotas={True: 0.0, False: None})
    why = {row["instance"]: row["why_not"] for row in refused if row["model"] == "Qwen3.6-27B"}
    assert why["g5.xlarge"] == ["quota 0 vCPUs, needs 4"] and why["c8g.4xlarge"] == []


def test_35b_on_g5_xlarge_is_refused_with_numbers_and_the_nearest_fit() -> None:
    deployment = decided(model__name="Qwen3.6-35B-A3B", model__quant="UD-Q4_K_XL")
    with pytest.raises(RefusedError, match=r"needs 2\d\.\d GiB of VRAM, there are 22\.4") as refused:
        refuse_if_unfit(deployment)
    assert "nearest setting that fits" in str(refused.value.hint)


def test_27b_with_32k_one_slot_and_two_drafts_fits_g5_xlarge() -> None:
    deployment = decided(
        model__quant="Q4_K_M", engine__context="32768", engine__parallel="1", engine__mtp__draft_n_max="2"
    )
    refuse_if_unfit(deployment)
    assert deployment.memory.fits and deployment.engine.mtp.draft_n_max == 2
    document = plan_document(deployment, [], 0)
    assert document["speed"]["tokens_per_second"] == 47.89
    assert document["money"]["prices"]["on-demand"] is None
    assert document["money"]["prices"]["reserved-1y"]["per_million_tokens"]["100%"] == 22.98
    assert speed_of(deployment).low < 47.89


@pytest.mark.parametrize(
    ("market", "labels"),
    [
        ("spot", ["spot (this stack)"]),
        ("spot-first", ["on-demand (without spot capacity)", "spot (tried first)"]),
        ("on-demand", ["on-demand (this stack)"]),
    ],
)
def test_the_plan_says_which_prices_are_this_stacks(market: str, labels: list[str]) -> None:
    document = plan_document(decided(instance__market=market), [], 0)
    shown = "\n".join(plan_lines(document, Page(120, colour=False)))
    assert [label for label in (f"{m} ({w})" for m in ("on-demand", "spot") for w in _SAID) if label in shown] == labels


def test_spent_says_unknown_without_a_price() -> None:
    price = prices.hourly("g5.xlarge", "cn-northwest-1", "reserved-1y")
    assert price and price.currency == "CNY"
    known = spent(10, price, 1_000_000)
    assert known.amount == pytest.approx(39.07, abs=0.01) and known.per_million_tokens == pytest.approx(known.amount)
    assert spent(10, price, None).per_million_tokens is None
    assert spent(10, None, 5).amount is None


def test_terms_of_the_pricing_api_become_prices() -> None:
    def offer(hours: str, upfront: str, **kind: str):
        dims = {
            "a": {"unit": "Hrs", "pricePerUnit": {"CNY": hours}},
            "b": {"unit": "Quantity", "pricePerUnit": {"CNY": upfront}},
        }
        return {"priceDimensions": dims, "termAttributes": kind}

    three = offer("0", "60000", LeaseContractLength="3yr", OfferingClass="standard", PurchaseOption="All Upfront")
    part = offer("1", "9", LeaseContractLength="3yr", OfferingClass="standard", PurchaseOption="Partial Upfront")
    terms = {"OnDemand": {"x": offer("7.5", "0")}, "Reserved": {"p": part, "t": three}}
    found = {price.market: price for price in of_terms(terms, "s", "2026-11-30T00:00:00Z")}
    assert found["on-demand"].per_hour == 7.5 and found["on-demand"].currency == "CNY"
    assert found["reserved-3y"].upfront == 60000 and found["reserved-3y"].per_month == pytest.approx(60000 / 36)
