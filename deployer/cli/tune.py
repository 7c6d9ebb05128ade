"""`deployer tune`: the machine measures MTP and thread counts on itself and keeps the fastest."""

from __future__ import annotations

import click

from deployer.cli.options import aws_options, json_option, lock_wait_option, make_settings
from deployer.cli.resolve import chosen_stack
from deployer.cli.session import interruptible, open_view
from deployer.clock import SystemClock
from deployer.events import Event


@click.command()
@click.argument("stack", required=False, metavar="[STACK|SPEC]")
@click.option("--dry-run", "--keep", "dry_run", is_flag=True, help="Measure only; the engine goes on as before.")
@lock_wait_option
@aws_options
@json_option
def tune(
    stack: str | None, lock_wait: float, region: str | None, profile: str | None, *, dry_run: bool, as_json: bool
) -> None:
    """Measure on the stack's machine how fast the engine is with and without MTP, and keep the fastest.

    MTP off, then 1 to 4 drafts until more only cost (on to 8 while more is faster), on a CPU with some thread counts;
    each three times, with the same questions. The simplest candidate within 5 % of the fastest wins and stays through
    reboots; another engine, hardware or model makes it void. The endpoint is away meanwhile. Ctrl-C leaves everything
    as it was.
    """
    from deployer.targets.tune import tune as tune_place

    settings = make_settings(region, profile)
    with open_view(as_json=as_json) as view:
        place = chosen_stack(settings, view, stack, lock_wait=lock_wait)
        hint = f"`deployer tune {place.stack}` measures again"
        with interruptible(f"the tuning of stack {place.stack} was interrupted: it goes on as before", hint):
            done = tune_place(place, settings, SystemClock(), view.emit, measure_only=dry_run)
        view.show(Event("tuned", {"stack": done.stack, **done.report.document(), "seconds": done.seconds}))
