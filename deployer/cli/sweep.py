"""`deployer sweep`: what nobody looks after any more, in one region or several, taken away."""

from __future__ import annotations

import sys

import click

from deployer.cli.options import json_option, make_settings, seconds_of
from deployer.cli.session import interruptible, open_view
from deployer.clock import SystemClock
from deployer.errors import DeployerError, TeardownIncomplete
from deployer.events import Event, Json
from deployer.targets.directory import region_of


@click.command()
@click.option("--region", "regions", multiple=True, metavar="REGION", help="A region to look in, repeatable.")
@click.option("--profile", metavar="NAME", help="Profile of the AWS configuration.")
@click.option(
    "--older-than",
    callback=seconds_of,
    default="0s",
    metavar="DURATION",
    help="Only stacks whose oldest resource has existed so long (90m, 8h, 2d).",
)
@click.option("--yes", is_flag=True, help="Delete without asking, as a cron job must.")
@json_option
def sweep(regions: tuple[str, ...], profile: str | None, older_than: float, *, yes: bool, as_json: bool) -> None:
    """Find stacks that are half made, half deleted, over their time or without a record, and take them away.

    Only what carries deployer's tag counts, and a stack that somebody works on is left alone. Without --yes it asks on
    a terminal, and elsewhere only lists. Ends with 7 when something that was to go remains.
    """
    from deployer.targets.sweeping import Sweeper, document

    clock = SystemClock()
    settings = make_settings(regions[0] if regions else None, profile)
    failed: list[DeployerError] = []
    with open_view(as_json=as_json) as view, interruptible("interrupted while sweeping", "deployer sweep goes on"):
        sweepers = [
            Sweeper(make_settings(region, profile), region, clock, view.emit)
            for region in dict.fromkeys(regions or (region_of(settings),))
        ]
        found = [(sweeper, sweeper.find(older_than=older_than)) for sweeper in sweepers]
        listed = [row for sweeper, orphans in found for row in document(sweeper.region, orphans, clock.now())]
        ask = not yes and sys.stdin.isatty() and not as_json
        view.show(Event("orphans", {"orphans": listed}))
        if not listed or not (yes or ask):
            return
        if ask:
            click.confirm(f"delete {len(listed)} {'stack' if len(listed) == 1 else 'stacks'}?", abort=True, err=True)
        for sweeper, orphans in found:
            done = sweeper.sweep(orphans)
            failed += done.failed
            fields: dict[str, Json] = {"region": sweeper.region, "deleted": [*done.deleted], "kept": [*done.kept]}
            view.emit(Event("sweep.summary", {**fields, "failed": [error.message for error in done.failed]}))
    if failed:
        raise TeardownIncomplete("; ".join(error.message for error in failed), hint=failed[0].hint)
