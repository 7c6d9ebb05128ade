"""Prices, their arithmetic, and the dated file of those found publicly. A price nobody knows is None, never a guess."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

from deployer.catalog.source import document

Market = Literal["on-demand", "reserved-1y", "reserved-3y", "spot"]
MARKETS: tuple[Market, ...] = get_args(Market)

#: Hours of the month over which tokens are counted and hourly prices summed, as the article behind this counts.
MONTH_HOURS = 720
#: A reservation's year, in hours, as AWS spreads an upfront payment.
YEAR_HOURS = 8760
_YEARS = {"reserved-1y": 1, "reserved-3y": 3}


@dataclass(frozen=True)
class Price:
    """What an instance costs. upfront: paid once for the whole term. rate: per hour besides. date: when it was read."""

    currency: str
    market: Market
    upfront: float
    rate: float
    source: str
    date: str

    @property
    def per_hour(self) -> float:
        """The upfront payment spread over the term's hours, and the hourly rate."""
        return self.upfront / (self._years * YEAR_HOURS) + self.rate if self._years else self.rate

    @property
    def per_month(self) -> float:
        """A twelfth of a reserved year; MONTH_HOURS of everything that is paid by the hour."""
        spread = self.upfront / (self._years * 12) if self._years else 0.0
        return spread + self.rate * MONTH_HOURS

    def per_million_tokens(self, tokens_per_second: float, utilisation: float = 1.0) -> float:
        """Instance only. utilisation: the share of the month in which tokens come at that speed, above 0."""
        return self.per_month / (tokens_per_second * 3600 * MONTH_HOURS * utilisation / 1e6)

    @property
    def _years(self) -> int:
        return _YEARS.get(self.market, 0)


@dataclass(frozen=True)
class Rate:
    """A price per unit, such as a GiB of a volume for a month or a GB sent to the Internet."""

    currency: str
    amount: float
    source: str
    date: str


def hourly(instance_type: str, region: str, market: Market = "on-demand") -> Price | None:
    """The dated file's price of exactly this, None when unknown."""
    return _instances().get((instance_type, region, market))


def volume(kind: str, region: str) -> Rate | None:
    """A GiB-month of a volume type, None when unknown."""
    return _rate("volumes", region, "gib_month", kind)


def transfer_out(region: str) -> Rate | None:
    """A GB sent to the Internet, None when unknown."""
    return _rate("transfer_out", region, "gb", None)


@cache
def _instances() -> dict[tuple[str, str, str], Price]:
    data = document("prices")
    return {
        (row["instance"], row["region"], row["market"]): Price(
            row["currency"], row["market"], row["upfront"], row["hourly"], row["source"], data["date"]
        )
        for row in data["instances"]
    }


def _rate(table: str, region: str, unit: str, kind: str | None) -> Rate | None:
    data = document("prices")
    for row in data[table]:
        if row["region"] == region and row.get("kind") == kind:
            return Rate(row["currency"], row[unit], row["source"], data["date"])
    return None
