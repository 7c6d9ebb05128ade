"""Pricing and Service Quotas, which moto does not have here: the dated public prices, and this cloud's own quotas."""

from __future__ import annotations

import json
from typing import Any

from deployer.catalog import prices
from deployer.rehearsal.fidelity.call import Call, Proceed, Reply
from deployer.rehearsal.fidelity.world import World

_JSON = "application/x-amz-json-1.1"
#: As AWS names them, with the codes they have in the aws partition; whether China has the same is not known. Without
#: a set limit this cloud has none, and says so with a large number.
_QUOTAS = {"Standard": "Standard (A, C, D, H, I, M, R, T, Z)", "G and VT": "G and VT"}
_NAMES = {"on-demand": "Running On-Demand {} instances", "spot": "All {} Spot Instance Requests"}
_CODES = {
    ("on-demand", "Standard"): "L-1216C47A",
    ("on-demand", "G and VT"): "L-DB2E81BA",
    ("spot", "Standard"): "L-34B43A08",
    ("spot", "G and VT"): "L-3819A6DF",
}
_NO_LIMIT = 100_000.0
_NO_HISTORY = b"<DescribeSpotPriceHistoryResponse><spotPriceHistorySet/></DescribeSpotPriceHistoryResponse>"


class MarketRule:
    """Answers GetProducts, ListServiceQuotas, and DescribeSpotPriceHistory with nothing: moto's prices are made up."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """The rule."""
        if call.service == "pricing" and call.operation == "GetProducts":
            wanted = {one["Field"]: one["Value"] for one in call.document.get("Filters", [])}
            products = _products(wanted.get("instanceType", ""), wanted.get("regionCode", ""))
            return _reply({"FormatVersion": "aws_v1", "PriceList": [json.dumps(one) for one in products]})
        if call.service == "servicequotas" and call.operation == "ListServiceQuotas":
            return _reply({"Quotas": self._quotas() if call.document.get("ServiceCode") == "ec2" else []})
        if call.is_("ec2", "DescribeSpotPriceHistory"):
            return Reply(200, "text/xml", _NO_HISTORY)
        return proceed(call)

    def _quotas(self) -> list[dict[str, Any]]:
        return [
            {
                "ServiceCode": "ec2",
                "QuotaName": name.format(title),
                "QuotaCode": _CODES[market, bucket],
                "Value": float(self._world.options.vcpu_quota.get(bucket, _NO_LIMIT)),
                "Unit": "None",
            }
            for market, name in _NAMES.items()
            for bucket, title in _QUOTAS.items()
        ]


def _products(instance_type: str, region: str) -> list[dict[str, Any]]:
    """One product with every dated price of the type; none when no price is known."""
    terms: dict[str, dict[str, Any]] = {}
    for market in prices.MARKETS:
        price = prices.hourly(instance_type, region, market)
        if price is None or market == "spot":
            continue
        dimensions = {
            "hours": {"unit": "Hrs", "pricePerUnit": {price.currency: str(price.rate)}},
            "upfront": {"unit": "Quantity", "pricePerUnit": {price.currency: str(price.upfront)}},
        }
        years = {"reserved-1y": "1yr", "reserved-3y": "3yr"}.get(market)
        kind = {"LeaseContractLength": years, "OfferingClass": "standard", "PurchaseOption": "All Upfront"}
        offer = {"priceDimensions": dimensions, "termAttributes": kind if years else {}}
        terms.setdefault("Reserved" if years else "OnDemand", {})[market] = offer
    return [{"terms": terms, "publicationDate": "2026-11-30T00:00:00Z"}] if terms else []


def _reply(document: dict[str, Any]) -> Reply:
    return Reply(200, _JSON, json.dumps(document).encode())
