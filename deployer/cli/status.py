"""`deployer status`: one stack in detail."""

from __future__ import annotations

import click

from deployer.cli.options import aws_options, json_option, make_settings
from deployer.cli.resolve import chosen_stack
from deployer.cli.session import open_view
from deployer.clock import SystemClock
from deployer.events import Event


@click.command()
@click.argument("stack", required=False, metavar="[STACK|SPEC]")
@aws_options
@json_option
def status(stack: str | None, region: str | None, profile: str | None, *, as_json: bool) -> None:
    """Show one stack: what exists of it, how far it is, whether it answers.

    STACK is its name or the path of its spec. Without it, the only stack there is.
    """
    from deployer.views.status import status_document

    settings = make_settings(region, profile)
    with open_view(as_json=as_json) as view:
        place = chosen_stack(settings, view, stack)
        found = place.target.status(place.stack)
        view.show(Event("status", status_document(found, SystemClock().now())))
