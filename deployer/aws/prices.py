"""Live prices: the pricing API, and EC2's history for spot. Without credentials there is only the dated file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from deployer.aws.session import Aws
from deployer.catalog.prices import Market, Price
from deployer.errors import AwsError

_TERMS: Mapping[str, Market] = {"1yr": "reserved-1y", "3yr": "reserved-3y"}


def live(aws: Aws, instance_type: str) -> tuple[Price, ...]:
    """Every price AWS tells for a Linux instance of this type in the region. Raises AwsError when it may not ask."""
    filters = {
        "instanceType": instance_type,
        "regionCode": aws.region,
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
    }
    products = aws.pages(
        "pricing",
        "GetProducts",
        "PriceList",
        ServiceCode="AmazonEC2",
        Filters=[{"Type": "TERM_MATCH", "Field": name, "Value": value} for name, value in filters.items()],
    )
    found: dict[Market, Price] = {}
    for text in products:
        product = json.loads(text) if isinstance(text, str) else text
        for price in of_terms(
            product.get("terms", {}), f"pricing API, {aws.region}", product.get("publicationDate", "")
        ):
            found.setdefault(price.market, price)
    history = spot(aws, instance_type)
    return (*found.values(), *([history] if history else []))


def spot(aws: Aws, instance_type: str) -> Price | None:
    """The cheapest zone's latest spot price, None when the region has no history of it."""
    try:
        answer = aws.call(
            "ec2",
            "DescribeSpotPriceHistory",
            InstanceTypes=[instance_type],
            ProductDescriptions=["Linux/UNIX"],
            MaxResults=100,
        )
    except AwsError:
        return None
    latest: dict[str, Any] = {}
    for row in answer["SpotPriceHistory"]:
        zone = row["AvailabilityZone"]
        if zone not in latest or row["Timestamp"] > latest[zone]["Timestamp"]:
            latest[zone] = row
    if not latest:
        return None
    best = min(latest.values(), key=lambda row: float(row["SpotPrice"]))
    currency = "CNY" if aws.partition.name == "aws-cn" else "USD"
    source = f"spot price history, {best['AvailabilityZone']}"
    return Price(currency, "spot", 0.0, float(best["SpotPrice"]), source, f"{best['Timestamp']:%Y-%m-%d}")


def of_terms(terms: Mapping[str, Any], source: str, date: str) -> Iterator[Price]:
    """Prices out of a product's `terms`: on demand, and standard reservations paid all upfront."""
    for offer in terms.get("OnDemand", {}).values():
        currency, rate, _ = _dimensions(offer)
        if currency:
            yield Price(currency, "on-demand", 0.0, rate, source, date[:10])
    for offer in terms.get("Reserved", {}).values():
        kind = offer.get("termAttributes", {})
        market = _TERMS.get(kind.get("LeaseContractLength", ""))
        if market is None or kind.get("OfferingClass") != "standard" or kind.get("PurchaseOption") != "All Upfront":
            continue
        currency, rate, upfront = _dimensions(offer)
        if currency:
            yield Price(currency, market, upfront, rate, source, date[:10])


def _dimensions(offer: Mapping[str, Any]) -> tuple[str, float, float]:
    """(currency, per hour, upfront) of one offer; an empty currency when it has no price."""
    currency, rate, upfront = "", 0.0, 0.0
    for dimension in offer.get("priceDimensions", {}).values():
        # One currency a partition; amounts of several are never added up.
        given, amount = next(iter(dimension["pricePerUnit"].items()), ("", 0.0))
        if currency not in ("", given):
            return "", 0.0, 0.0
        currency = given
        if dimension.get("unit") == "Quantity":
            upfront += float(amount)
        else:
            rate += float(amount)
    return currency, rate, upfront
