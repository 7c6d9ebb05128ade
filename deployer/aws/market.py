"""What an account can have in a region: prices, quota and offerings of many instance types, asked at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from deployer.aws import prices, quotas
from deployer.aws.network import offering_zones
from deployer.aws.session import Aws
from deployer.catalog.prices import Market, Price
from deployer.errors import AwsError

_AT_ONCE = 8
#: DescribeInstanceTypeOfferings takes this many values in a filter.
_FILTER_VALUES = 200


@dataclass(frozen=True)
class Seen:
    """quotas: vCPUs by GPU or not, None is unknown. offered: None is unknown. notes: what could not be read."""

    prices: Mapping[str, Price]
    quotas: Mapping[bool, float | None]
    offered: frozenset[str] | None
    notes: tuple[str, ...]


def look(aws: Aws, types: Sequence[str], market: Market) -> Seen:
    """Prices in one market, both quotas, and what is offered. Never raises AwsError: unknown is said in the notes."""
    notes: list[str] = []
    offered: frozenset[str] | None = None
    try:
        zones: dict[str, list[str]] = {}
        for at in range(0, len(types), _FILTER_VALUES):
            zones |= offering_zones(aws, types[at : at + _FILTER_VALUES])
        offered = frozenset(name for name, places in zones.items() if places)
    except AwsError as error:
        notes.append(f"Offerings unknown: {error.message}.")
    found, why = _prices(aws, [name for name in types if offered is None or name in offered], market)
    if why:
        notes.append(f"Live prices unknown, dated ones instead: {why}.")
    limits: dict[bool, float | None] = {}
    for gpu in (False, True):
        quota = quotas.vcpus(aws, gpu=gpu, spot=market == "spot")
        limits[gpu] = quota.limit
        if quota.limit is None:
            notes.append(f"Quota unknown: {quota.name}: {quota.why_unknown}.")
    return Seen(found, limits, offered, tuple(notes))


def _prices(aws: Aws, types: Sequence[str], market: Market) -> tuple[dict[str, Price], str]:
    if not types:
        return {}, ""
    first, *others = types
    try:
        answers = {first: prices.live(aws, first)}  # a permission that is missing is missing for all
        with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            answers |= dict(zip(others, pool.map(lambda name: prices.live(aws, name), others), strict=True))
    except AwsError as error:
        return {}, error.message
    return {name: price for name, known in answers.items() for price in known if price.market == market}, ""
