"""`deployer ls`: every stack, here and in the region."""

from __future__ import annotations

import click

from deployer.cli.options import aws_options, json_option, make_settings
from deployer.cli.session import open_view
from deployer.clock import SystemClock
from deployer.events import Event


@click.command("ls")
@aws_options
@json_option
def ls(region: str | None, profile: str | None, *, as_json: bool) -> None:
    """List every stack, on this machine and in the region."""
    from deployer.targets.directory import Directory
    from deployer.views.status import listing

    settings = make_settings(region, profile)
    with open_view(as_json=as_json) as view:
        found = Directory(settings, view.emit).look()
        view.show(Event("stacks", listing(found.stacks, found.notes, SystemClock().now())))
