"""`deployer sweep`: what nobody looks after any more, in one region or several, taken away."""

from __future__ import annotations

import sys

import click

from deployer.cli.options import json_option, make_settings, seconds_of
from deployer.cli.session import interruptible, open_view
from deployer.clock import SystemClock
from deployer.errors import DeployerError, TeardownIncomplete, UsageError
from deployer.events import Event, Json
from deployer.settings import Settings
from deployer.targets.directory import region_of


@click.command()
@click.option("--region", "regions", multiple=True, metavar="REGION", help="A region to look in, repeatable.")
@click.option("--all-regions", is_flag=True, help="Every region of the partition.")
@click.option("--profile", metavar="NAME", help="Profile of the AWS configuration.")
@click.option(
    "--older-than",
    callback=seconds_of,
    default="0s",
    metavar="DURATION",
    help="Only stacks whose oldest resource has existed so long (90m, 8h, 2d).",
)
@click.option("--dry-run", is_flag=True, help="Only list, never ask or delete.")
@click.option("--yes", is_flag=True, help="Delete without asking, as a cron job must.")
@json_option
def sweep(
    regions: tuple[str, ...],
    profile: str | None,
    older_than: float,
    *,
    all_regions: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Find stacks that are half made, half deleted, over their time or without a record, and take them away.

    Only what carries deployer's tag counts, and a stack that somebody works on is left alone. Without --yes it asks on
    a terminal, and elsewhere only lists. A region that cannot be looked at keeps no other from being swept, and is the
    error at the end. Ends with 7 when something that was to go remains.
    """
    from deployer.targets.sweeping import Sweeper, document, look_everywhere

    if all_regions and regions:
        raise UsageError("both --region and --all-regions were given", hint="deployer sweep --all-regions")
    if dry_run and yes:
        raise UsageError("both --dry-run and --yes were given", hint="deployer sweep --dry-run")

    clock = SystemClock()
    settings = make_settings(regions[0] if regions else None, profile)
    failed: list[DeployerError] = []
    with open_view(as_json=as_json) as view, interruptible("interrupted while sweeping", "deployer sweep goes on"):
        sweepers = [
            Sweeper(make_settings(region, profile), region, clock, view.emit)
            for region in dict.fromkeys(_all_regions(settings) if all_regions else regions or (region_of(settings),))
        ]
        looked = look_everywhere(sweepers, older_than, view.emit)
        listed = [
            row
            for sweeper, orphans in looked.found
            for row in document(sweeper.region, orphans, clock.now(), sweeper.hourly(orphans))
        ]
        ask = not (yes or dry_run or as_json) and sys.stdin.isatty()
        view.show(Event("orphans", {"orphans": listed}))
        if ask and listed:
            click.confirm(f"delete {len(listed)} {'stack' if len(listed) == 1 else 'stacks'}?", abort=True, err=True)
        for sweeper, orphans in looked.found if yes or ask else ():
            if not orphans:
                continue
            done = sweeper.sweep(orphans)
            failed += done.failed
            fields: dict[str, Json] = {"region": sweeper.region, "deleted": [*done.deleted], "kept": [*done.kept]}
            view.emit(Event("sweep.summary", {**fields, "failed": [error.message for error in done.failed]}))
    if failed:
        raise TeardownIncomplete("; ".join(error.message for error in failed), hint=failed[0].hint)
    if looked.unseen:
        raise looked.unseen[0]


def _all_regions(settings: Settings) -> tuple[str, ...]:
    """Those of the partition that the person's own region is in."""
    from deployer.catalog import partition

    found = partition.for_region(region_of(settings))
    assert found is not None, "a region without a partition was refused before"
    return found.regions
