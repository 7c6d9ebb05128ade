"""`deployer advise`: which machine for which model, at what price."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deployer.cli.options import aws_options, json_option, make_settings
from deployer.cli.session import open_view
from deployer.errors import CredentialsError, UsageError
from deployer.events import Event, Json

if TYPE_CHECKING:
    from deployer.catalog.prices import Market
    from deployer.decide.advice import Option, Wish
    from deployer.settings import Settings


@click.command()
@click.option("--model", "models", multiple=True, metavar="NAME", help="Only this catalogue model, repeatable.")
@click.option("--budget", type=click.FloatRange(min=0, min_open=True), metavar="CNY", help="At most so much a month.")
@click.option("--min-tok-s", type=click.FloatRange(min=0), metavar="N", help="At least so many tokens/s for one slot.")
@click.option(
    "--context", type=click.IntRange(min=256), metavar="N", help="Tokens a slot; half counts as used. [32768]"
)
@click.option("--parallel", type=click.IntRange(1, 64), default=1, show_default=True, help="Slots decoding at once.")
@click.option(
    "--utilisation", type=click.FloatRange(0, 100, min_open=True), default=100, show_default=True, metavar="PERCENT",
    help="Share of the month in which tokens flow.",
)  # fmt: skip
@click.option(
    "--pricing", type=click.Choice(["on-demand", "reserved-1y", "reserved-3y", "spot"]), default="reserved-1y",
    show_default=True, help="How the instance is paid for.",
)  # fmt: skip
@click.option("--no-gpu", is_flag=True, help="Only CPU instances, for an account without GPU quota.")
@click.option("--write", type=click.Path(path_type=Path, dir_okay=False), help="Write the best option as a spec.")
@click.option("--force", is_flag=True, help="Overwrite a spec that is there.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Draw speed against price: .png or .svg.")
@click.option("--offline", is_flag=True, help="Ask AWS nothing: the dated prices, no quota, no offerings.")
@aws_options
@json_option
def advise(
    models: tuple[str, ...], budget: float | None, min_tok_s: float | None, context: int | None, parallel: int,
    utilisation: float, pricing: Market, write: Path | None, plot: Path | None, region: str | None,
    profile: str | None, *, no_gpu: bool, force: bool, offline: bool, as_json: bool,
) -> None:  # fmt: skip
    """Rank machines for models by the price of a million tokens, with speed, fit and what speaks against each."""
    from deployer.catalog import models as catalogue
    from deployer.decide.advice import Wish
    from deployer.engine.throughput import SHORT_CONTEXT
    from deployer.targets.directory import region_of

    known = [facts.name for facts in catalogue.all_models()]
    for name in models:
        if name not in known:
            raise UsageError(f"the catalogue has no model {name!r}", where="--model", hint=f"one of {', '.join(known)}")
    if plot is not None and plot.suffix not in (".png", ".svg"):
        raise UsageError(f"{plot} ends neither in .png nor in .svg", where="--plot")
    settings = make_settings(region, profile)
    wish = Wish(
        market=pricing,
        models=models,
        budget=budget,
        least_speed=min_tok_s,
        context=context or 32768,
        filled=context // 2 if context else SHORT_CONTEXT,
        parallel=parallel,
        utilisation=utilisation / 100,
        gpu=not no_gpu,
    )
    place = region_of(settings)
    with open_view(as_json=as_json) as view:
        options, notes = _options(wish, settings, place, offline=offline)
        document = _document(options, notes, wish, place)
        view.show(Event("advice", document))
        if write is not None:
            _write(options, write, place, wish, force=force)
            view.show(Event("written", {"files": [str(write)]}))
        if plot is not None:
            from deployer.decide.advice import option_document
            from deployer.views.advice import draw

            draw([option_document(option) for option in options], plot, _currency(options))
            view.show(Event("written", {"files": [str(plot)]}))


def _options(wish: Wish, settings: Settings, region: str, *, offline: bool) -> tuple[list[Option], list[str]]:
    """The ranking, from AWS's own answers where somebody may ask for them, and what is to be said about it."""
    from dataclasses import replace

    from deployer.catalog import prices
    from deployer.decide.advice import advise as rank
    from deployer.decide.advice import candidates

    names = [machine.name for machine in candidates(wish)]
    dated = {name: price for name in names if (price := prices.hourly(name, region, wish.market))}
    if offline:
        return rank(wish, dated), ["Offline: prices of the dated file; quota and offerings are unknown."]
    from deployer.aws.market import look
    from deployer.aws.session import connect

    try:
        aws = connect(region, settings)
    except CredentialsError as error:
        return rank(wish, dated), [f"Dated prices, quota and offerings unknown: {error.message}."]
    seen = look(aws, names, wish.market)
    wish = replace(wish, quotas=seen.quotas, offered=seen.offered)
    return rank(wish, {**dated, **seen.prices}), list(seen.notes)


def _document(options: list[Option], notes: list[str], wish: Wish, region: str) -> dict[str, Json]:
    from deployer.decide.advice import option_document, verdicts

    return {
        "region": region,
        "market": wish.market,
        "utilisation": wish.utilisation,
        "options": [option_document(option) for option in options],
        "notes": [*verdicts(options), *notes],
    }


def _currency(options: list[Option]) -> str:
    return next((option.price.currency for option in options if option.price is not None), "")


def _write(options: list[Option], path: Path, region: str, wish: Wish, *, force: bool) -> None:
    from deployer.decide.advice import spec_text
    from deployer.spec.load import parse_spec

    if path.exists() and not force:
        raise UsageError(f"{path} is there already", where=str(path), hint="another name, or --force to overwrite")
    best = next((option for option in options if not option.why_not), None)
    if best is None:
        raise UsageError(
            "nothing meets all of this, so there is no spec to write", hint="deployer advise without limits"
        )
    name = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-")[:32].strip("-")
    name = name if re.match("[a-z]", name) else f"stack-{name}"[:32].strip("-")
    text = spec_text(best, name, region, wish)
    parse_spec(text, str(path), environ=os.environ, overrides={})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
