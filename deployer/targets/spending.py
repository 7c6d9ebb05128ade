"""What a stack has cost until now: an estimate from its instance's hours and the price that is known for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from deployer.access.errors import SshError
from deployer.aws import prices
from deployer.aws.resources import instance
from deployer.aws.resources.instance import Instance
from deployer.aws.session import Aws
from deployer.catalog.prices import MARKETS, Price, hourly
from deployer.decide.money import Spent, spent
from deployer.errors import AwsError, DeployerError
from deployer.health.client import EngineClient
from deployer.reconcile import parallel
from deployer.settings import Settings
from deployer.targets.ec2_access import access_to

#: How long a login may take before the tokens are unknown: nobody waits for a number when a stack is to go.
_LOGIN_SECONDS = 3.0
#: An instance that is stopped is not billed; one on its way to an end still is.
_BILLED = frozenset({"pending", "running", "stopping", "shutting-down"})

#: Instance type and market -> what an hour of it costs, None when nobody knows.
Known = Mapping[tuple[str, str], Price | None]


def known_prices(aws: Aws, instances: Iterable[Instance]) -> Known:
    """The price of each kind of instance, asked once for each: live, else of the dated file, else None."""
    kinds = {(one.type, one.market) for one in instances if one.state in _BILLED}
    asks: dict[str, Callable[[], Price | None]] = {
        f"{kind}/{market}": partial(price_of, aws, kind, market) for kind, market in kinds
    }
    answers = parallel.gather(asks)
    return {(kind, market): answers[f"{kind}/{market}"] for kind, market in kinds}


def spent_on(one: Instance | None, known: Known, now: float, tokens: int | None = None) -> Spent | None:
    """Since the instance was launched or last started. now: seconds since the epoch. None of one that is not billed."""
    if one is None or one.state not in _BILLED:
        return None
    return spent(max(now - one.launched_at, 0.0) / 3600, known.get((one.type, one.market)), tokens)


def spent_by(aws: Aws, settings: Settings, stack: str, now: float) -> Spent | None:
    """Of one stack with the tokens that its engine has generated, where it can be asked within seconds."""
    seen = [one for one in instance.observe(aws, stack) if one.ours and one.state in _BILLED]
    if not seen:
        return None
    newest = seen[-1]
    answers: Mapping[str, Any] = parallel.gather(
        {"prices": lambda: known_prices(aws, [newest]), "tokens": lambda: _tokens(aws, settings, stack)}
    )
    return spent_on(newest, answers["prices"], now, answers["tokens"])


def price_of(aws: Aws, kind: str, market: str) -> Price | None:
    """What AWS tells now, else the dated file, else None."""
    wanted = next(one for one in MARKETS if one == market)
    with suppress(AwsError):
        for price in prices.live(aws, kind):
            if price.market == wanted:
                return price
    return hourly(kind, aws.region, wanted)


def _tokens(aws: Aws, settings: Settings, stack: str) -> int | None:
    from deployer.access.ssh import connect
    from deployer.access.tunnel import open_tunnel

    with suppress(DeployerError, SshError, OSError):
        access = access_to(aws, settings, stack)
        with open_tunnel(connect(access.ssh, _LOGIN_SECONDS), access.remote_port) as tunnel:
            url = f"{access.scheme}://127.0.0.1:{tunnel.local_port}"
            client = EngineClient(lambda: url, access.api_key(), certificate=access.certificate)
            try:
                return client.generated_tokens()
            finally:
                client.close()
    return None
