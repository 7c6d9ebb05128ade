"""`deployer key rotate`: a new API key, in SSM and in the engine."""

from __future__ import annotations

import click

from deployer.cli.options import aws_options, json_option, lock_wait_option, make_settings
from deployer.cli.resolve import chosen_stack
from deployer.cli.session import interruptible, open_view
from deployer.clock import SystemClock
from deployer.events import Event


@click.command()
@click.argument("stack", required=False, metavar="[STACK|SPEC]")
@lock_wait_option
@aws_options
@json_option
def rotate(stack: str | None, lock_wait: float, region: str | None, profile: str | None, *, as_json: bool) -> None:
    """Give the stack a new API key; the old one stops working.

    llama-server reads its key when it starts, so the engine is loaded again and the endpoint is away for that long;
    requests in flight are cut. Cut off at any point, run it again. Clients get the new key from `deployer env`.
    """
    from deployer.targets.rotate import rotate_key

    settings = make_settings(region, profile)
    with open_view(as_json=as_json) as view:
        place = chosen_stack(settings, view, stack, lock_wait=lock_wait)
        hint = f"`deployer key rotate {place.stack}` again goes on"
        with interruptible(f"the key of stack {place.stack} may be half changed", hint):
            done = rotate_key(place, settings, SystemClock(), view.emit)
        view.show(
            Event("key.rotated", vars(done)) if as_json else Event("text", {"text": _told(done.stack, done.seconds)})
        )


def _told(stack: str, seconds: float) -> str:
    away = f"the endpoint was away for {seconds:.1f} s" if seconds else "it does not run; the next `up` uses the key"
    return f'{stack} has a new API key, {away}: eval "$(deployer env {stack})"'
