"""Which machine for which model: every combination of the catalogue with its fit, speed and price, ranked. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from deployer.catalog import hardware as machines
from deployer.catalog import models as catalogue
from deployer.catalog.prices import Market, Price
from deployer.catalog.types import GgufFile, Hardware, ModelFacts
from deployer.decide.money import UTILISATIONS
from deployer.decide.types import MtpChoice
from deployer.engine.build import natural_build
from deployer.engine.memory import GIB, MemoryInputs, memory_fit
from deployer.engine.mtp import DEFAULT_DRAFT_N_MAX
from deployer.engine.nearest import with_nearest
from deployer.engine.throughput import SHORT_CONTEXT, Prediction, Workload, predict
from deployer.events import Json

_OFF = MtpChoice(enabled=False, draft_n_max=0, draft_p_min=0.0)
_ON = MtpChoice(enabled=True, draft_n_max=DEFAULT_DRAFT_N_MAX, draft_p_min=0.0)


@dataclass(frozen=True)
class Wish:
    """models: catalogue names, empty for all. budget: for a month, in the price's currency. filled: tokens of context
    in use while decoding. quotas: vCPUs by GPU or not; a missing or None entry is unknown. offered: None is unknown."""

    market: Market
    models: tuple[str, ...] = ()
    budget: float | None = None
    least_speed: float | None = None
    context: int = 32768
    filled: int = SHORT_CONTEXT
    parallel: int = 1
    utilisation: float = 1.0
    gpu: bool = True
    quotas: Mapping[bool, float | None] | None = None
    offered: frozenset[str] | None = None


@dataclass(frozen=True)
class Option:
    """One combination. why_not: empty when it can be had."""

    hardware: Hardware
    facts: ModelFacts
    file: GgufFile
    mtp: MtpChoice
    speed: Prediction | None
    price: Price | None
    fits: bool
    why_not: tuple[str, ...]
    utilisation: float

    @property
    def per_million_tokens(self) -> float | None:
        """At the wished utilisation; None when the price or the speed is unknown."""
        if self.price is None or self.speed is None:
            return None
        return self.price.per_million_tokens(self.speed.tokens_per_second, self.utilisation)


def candidates(wish: Wish) -> list[Hardware]:
    """The catalogue's machines that are worth asking AWS about."""
    found = (machines.lookup(name) for name in machines.all_types() if "metal" not in name)
    return [one for one in found if one is not None and (wish.gpu or one.gpu is None)]


def advise(wish: Wish, prices: Mapping[str, Price]) -> list[Option]:
    """Every combination, best first: those that can be had by price per token, then those whose price is unknown by
    speed, then the rest. prices: instance type -> price in the wished market."""
    models = [facts for facts in catalogue.all_models() if not wish.models or facts.name in wish.models]
    options = [
        _best(wish, machine, facts, prices.get(machine.name)) for machine in candidates(wish) for facts in models
    ]
    return sorted(options, key=_rank)


def _best(wish: Wish, hardware: Hardware, facts: ModelFacts, price: Price | None) -> Option:
    """The faster of MTP off and on, among those that fit."""
    file = catalogue.file_for(facts, facts.default_quant)
    if file is None:
        raise ValueError(f"{facts.name} has no file of its default quantisation")
    choices = (_OFF, _ON) if file.mtp_head else (_OFF,)
    options = [_option(wish, hardware, facts, file, mtp, price) for mtp in choices]
    return max(options, key=lambda option: (option.fits, option.speed.tokens_per_second if option.speed else 0.0))


def _option(
    wish: Wish, hardware: Hardware, facts: ModelFacts, file: GgufFile, mtp: MtpChoice, price: Price | None
) -> Option:
    size = file.size_bytes or file.size_estimate_bytes
    question = MemoryInputs(facts, size, hardware, wish.context, wish.parallel, "f16", "f16", True, mtp)
    work = Workload(drafts=mtp.draft_n_max, parallel=wish.parallel, filled=wish.filled)
    speed = predict(hardware, facts, size, file.quant, work)
    fits = memory_fit(question).fits
    reasons = [*([] if fits else [_too_big(question)]), *_obstacles(wish, hardware, speed, price)]
    return Option(hardware, facts, file, mtp, speed, price, fits, tuple(reasons), wish.utilisation)


def _too_big(question: MemoryInputs) -> str:
    facts = question.facts
    files = [catalogue.file_for(facts, quant) for quant in catalogue.quants(facts)] if facts else []
    known = [file for file in files if file is not None]
    fit = with_nearest(question, known, machines.family_members(question.hardware.family))
    words = f"needs {fit.need_bytes / GIB:.1f} of {fit.have_bytes / GIB:.1f} GiB {fit.where.upper()}"
    return f"{words}; nearest: {fit.nearest}" if fit.nearest else words


def _obstacles(wish: Wish, hardware: Hardware, speed: Prediction | None, price: Price | None) -> Iterable[str]:
    rate = speed.tokens_per_second / wish.parallel if speed else None
    if wish.least_speed is not None and (rate is None or rate < wish.least_speed):
        yield f"{rate:.1f} tok/s, wished {wish.least_speed:g}" if rate is not None else "speed unknown"
    if wish.budget is not None and (price is None or price.per_month > wish.budget):
        yield f"{price.per_month:,.0f} {price.currency} a month" if price is not None else "price unknown"
    quota = (wish.quotas or {}).get(hardware.gpu is not None)
    if quota is not None and quota < hardware.vcpus:
        yield f"quota {quota:g} vCPUs, needs {hardware.vcpus}"
    if wish.offered is not None and hardware.name not in wish.offered:
        yield "not offered in the region"


def _rank(option: Option) -> tuple[int, float, float]:
    cost, speed = option.per_million_tokens, option.speed.tokens_per_second if option.speed else 0.0
    if option.why_not:
        return 2, cost if cost is not None else float("inf"), -speed
    return (0, cost, -speed) if cost is not None else (1, float(option.hardware.vcpus), -speed)


def verdicts(options: Sequence[Option]) -> list[str]:
    """The article's tree in two sentences: the best price, and the lowest latency. options: as ranked."""
    possible = [option for option in options if not option.why_not and option.speed is not None]
    priced = [option for option in possible if option.per_million_tokens is not None]
    if not possible:
        return ["Nothing in the catalogue meets all of this; the last column says what each lacks."]
    fast = max(possible, key=lambda option: option.speed.tokens_per_second if option.speed else 0.0)
    said = [f"Fastest: {fast.facts.name} on {fast.hardware.name}."]
    if priced:
        best = priced[0]
        said.insert(0, f"Best price per token: {best.facts.name} on {best.hardware.name}.")
    return [*said, "A price is the instance alone; compare prices only between the same model."]


def option_document(option: Option) -> dict[str, Json]:
    """One row of `advise --json`; what is unknown is null."""
    price, speed = option.price, option.speed
    cost = option.per_million_tokens
    return {
        "instance": option.hardware.name,
        "model": option.facts.name,
        "quant": option.file.quant,
        "build": natural_build(option.hardware),
        "mtp": {"enabled": option.mtp.enabled, "draft_n_max": option.mtp.draft_n_max},
        "tokens_per_second": round(speed.tokens_per_second, 2) if speed else None,
        "band": [round(speed.low, 2), round(speed.high, 2)] if speed else None,
        "evidence": speed.evidence if speed else None,
        "currency": price.currency if price else None,
        "market": price.market if price else None,
        "per_hour": round(price.per_hour, 4) if price else None,
        "per_month": round(price.per_month, 2) if price else None,
        "per_million_tokens": round(cost, 2) if cost is not None else None,
        "per_million_tokens_at": _by_utilisation(price, speed),
        "price_source": f"{price.source} ({price.date})" if price else None,
        "fits": option.fits,
        "why_not": list(option.why_not),
    }


def _by_utilisation(price: Price | None, speed: Prediction | None) -> Json:
    if price is None or speed is None:
        return None
    return {f"{u:.0%}": round(price.per_million_tokens(speed.tokens_per_second, u), 2) for u in UTILISATIONS}


def spec_text(option: Option, name: str, region: str, wish: Wish) -> str:
    """A spec that deploys the option."""
    spot = "  market: spot\n" if wish.market == "spot" else ""
    return (
        f"# Written by `deployer advise`: {option.facts.name} on {option.hardware.name}.\n"
        f"name: {name}\ntarget: ec2\nregion: {region}\n"
        f"instance:\n  type: {option.hardware.name}\n{spot}"
        f"model:\n  name: {option.facts.name}\n  quant: {option.file.quant}\n"
        f"engine:\n  context: {wish.context}\n  parallel: {wish.parallel}\n"
        f'  mtp: "{"on" if option.mtp.enabled else "off"}"\n'
    )
