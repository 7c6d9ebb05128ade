"""`deployer plan`: what `up` would decide and do, with every reason."""

from __future__ import annotations

from pathlib import Path

import click

from deployer.cli.options import SPEC, aws_options, json_option, make_settings, set_option
from deployer.cli.session import open_view
from deployer.events import Event


@click.command()
@click.argument("spec", type=SPEC)
@click.option("--offline", is_flag=True, help="Ask AWS nothing: the plan of a stack that does not exist yet.")
@set_option
@aws_options
@json_option
def plan(
    spec: Path, overrides: tuple[str, ...], region: str | None, profile: str | None, *, offline: bool, as_json: bool
) -> None:
    """Show what `up` would decide and do for SPEC, changing nothing.

    Ends with 3 when the model does not fit into the machine's memory.
    """
    from deployer.cli.deciding import decided, plan_of, refuse_if_unfit

    settings = make_settings(region, profile, overrides)
    deployment = decided(spec, settings)
    with open_view(as_json=as_json) as view:
        view.show(Event("plan", plan_of(deployment, settings, view.emit, offline=offline)))
    refuse_if_unfit(deployment)
