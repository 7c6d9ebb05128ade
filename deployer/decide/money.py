"""What a deployment costs and how fast it should be, from package data alone. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from deployer.catalog import prices
from deployer.catalog.prices import Market, Price
from deployer.decide.types import Deployment
from deployer.engine.throughput import Prediction, Workload, predict
from deployer.events import Json
from deployer.spec.models import Ec2Stack

#: Shares of the month in which tokens flow, as the tables show them.
UTILISATIONS = (0.1, 0.3, 0.5, 1.0)


@dataclass(frozen=True)
class Spent:
    """What a stack has cost so far, an estimate. tokens None: the engine could not be asked. amount None: no price."""

    hours: float
    amount: float | None
    currency: str | None
    source: str
    tokens: int | None
    per_million_tokens: float | None


def speed_of(deployment: Deployment) -> Prediction | None:
    """The predicted speed of one stream."""
    weights, mtp = deployment.weights, deployment.engine.mtp
    facts = weights.facts
    quant = next((f.quant for f in facts.files if f.file == weights.file), None) if facts is not None else None
    work = Workload(drafts=mtp.draft_n_max if mtp.enabled else 0)
    return predict(deployment.hardware, facts, weights.size_bytes, quant, work)


def predicted_band(deployment: Deployment) -> tuple[float, float] | None:
    """Lowest and highest tokens/s to expect of one stream, None when nothing is predicted."""
    prediction = speed_of(deployment)
    return (prediction.low, prediction.high) if prediction else None


def market_of(deployment: Deployment) -> Market:
    """How the instance will be paid for when it is launched as the spec says: reservations are the account's own."""
    spec = deployment.spec
    return spec.instance.markets[0] if isinstance(spec, Ec2Stack) else "on-demand"


def spent(hours: float, price: Price | None, tokens: int | None) -> Spent:
    """Cost afterwards. hours: since launch. tokens: generated in that time, from the engine's own counters."""
    if price is None:
        return Spent(hours, None, None, "unknown", tokens, None)
    amount = price.per_hour * hours
    real = amount / tokens * 1e6 if tokens else None
    return Spent(hours, amount, price.currency, f"{price.source} ({price.date})", tokens, real)


def speed_document(prediction: Prediction | None) -> Json:
    """`speed` of `plan --json`; null when nothing can be predicted."""
    if prediction is None:
        return None
    return {
        "tokens_per_second": round(prediction.tokens_per_second, 2),
        "low": round(prediction.low, 2),
        "high": round(prediction.high, 2),
        "evidence": prediction.evidence,
        "acceptance": prediction.acceptance,
        "prefill_tokens_per_second": round(prediction.prefill_tokens_per_second, 1),
        "prefill_evidence": "modelled",
        "first_token_seconds_at_1000": round(prediction.first_token_seconds(1000), 2),
    }


def money_document(deployment: Deployment, prediction: Prediction | None, known: tuple[Price, ...]) -> Json:
    """`money` of `plan --json`: every known way to pay for this instance; an unknown price is null."""
    spec = deployment.spec
    if not isinstance(spec, Ec2Stack):
        return None
    by_market = {price.market: price for price in known}
    disk, sent = prices.volume("gp3", spec.region), prices.transfer_out(spec.region)
    return {
        "market": market_of(deployment),
        "markets": [*spec.instance.markets],
        "prices": {market: _priced(by_market.get(market), prediction) for market in prices.MARKETS},
        "volume_per_month": None
        if disk is None
        else {"amount": round(disk.amount * deployment.root_volume_gib, 2), "currency": disk.currency},
        "transfer_out_per_gb": None if sent is None else {"amount": sent.amount, "currency": sent.currency},
    }


def dated_prices(instance_type: str, region: str) -> tuple[Price, ...]:
    """Every price of the dated file for one instance type."""
    found = (prices.hourly(instance_type, region, market) for market in prices.MARKETS)
    return tuple(price for price in found if price is not None)


def _priced(price: Price | None, prediction: Prediction | None) -> Json:
    if price is None:
        return None
    speed = prediction.tokens_per_second if prediction else None
    return {
        "currency": price.currency,
        "per_hour": round(price.per_hour, 4),
        "per_month": round(price.per_month, 2),
        "per_million_tokens": None
        if speed is None
        else {f"{share:.0%}": round(price.per_million_tokens(speed, share), 2) for share in UTILISATIONS},
        "source": f"{price.source} ({price.date})",
    }
