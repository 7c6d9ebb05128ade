"""Where to try, in order: every zone that offers the spec's type, then its fallback types, then the next market."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from deployer.aws.network import Network
from deployer.decide.types import Deployment
from deployer.errors import DeployerError
from deployer.reconcile.desired import ec2_parts
from deployer.reconcile.request import Place
from deployer.settings import Settings
from deployer.spec.models import Ec2Stack


@dataclass(frozen=True)
class Skipped:
    """A type or zone that is not even tried, and why."""

    market: str
    instance_type: str
    zone: str | None
    reason: str


def wanted_types(spec: Ec2Stack) -> list[str]:
    """The spec's type, then its fallbacks, each once."""
    return list(dict.fromkeys([spec.instance.type, *spec.instance.fallbacks]))


def places(
    deployment: Deployment, network: Network, zones: Mapping[str, list[str]], settings: Settings
) -> Iterator[Place | Skipped]:
    """zones: instance type -> zones that offer it. Fallback types are decided anew only when they are reached."""
    first, *others = ec2_parts(deployment)[0].instance.markets
    tried: list[Place] = []
    for place in _in_market(first, deployment, network, zones, settings):
        tried += [place] if isinstance(place, Place) else []
        yield place
    for market in others:
        yield from (replace(place, market=market) for place in tried)


def _in_market(
    market: str, deployment: Deployment, network: Network, zones: Mapping[str, list[str]], settings: Settings
) -> Iterator[Place | Skipped]:
    spec, _ = ec2_parts(deployment)
    for name in wanted_types(spec):
        offered = zones.get(name, [])
        usable = [subnet for zone in offered if (subnet := network.in_zone(zone)) is not None]
        if not usable:
            where = (
                f"only in {', '.join(offered)}, where there is no subnet to use" if offered else "not in this region"
            )
            yield Skipped(market, name, None, f"offered {where}")
            continue
        try:
            decided = deployment if name == deployment.hardware.name else decide_for(deployment, name, settings)
        except DeployerError as error:
            yield Skipped(market, name, None, error.message)
            continue
        for subnet in usable:
            yield Place(decided, subnet, market)


def decide_for(deployment: Deployment, instance_type: str, settings: Settings) -> Deployment:
    """The same spec, decided for another instance type. The digest stays the spec's.

    Raises DeployerError when the model does not fit there.
    """
    from deployer.decide.decide import decide, refuse_if_unfit
    from deployer.spec.load import parse_spec

    spec, _ = ec2_parts(deployment)
    values = spec.model_dump(mode="json", exclude_none=True)
    values["instance"] |= {"type": instance_type, "fallbacks": []}
    # JSON is YAML: the parser checks the combination again, as it did for what the person wrote.
    loaded = parse_spec(json.dumps(values), f"{spec.name} on {instance_type}", environ={}, overrides={})
    decided = decide(loaded, settings)
    refuse_if_unfit(decided)
    # A stack has one image: a fallback runs the same build, and what the first type's image uses it has too.
    engine = replace(decided.engine, image=deployment.engine.image)
    return replace(decided, engine=engine, spec_digest=deployment.spec_digest)
