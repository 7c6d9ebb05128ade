"""`deployer up`: bring a stack to a healthy endpoint, or find that it is there already."""

from __future__ import annotations

from pathlib import Path

import click

from deployer.cli.options import SPEC, aws_options, json_option, lock_wait_option, make_settings, set_option
from deployer.cli.session import interruptible, open_view
from deployer.events import Event


@click.command()
@click.argument("spec", type=SPEC)
@set_option
@lock_wait_option
@aws_options
@json_option
def up(
    spec: Path,
    overrides: tuple[str, ...],
    lock_wait: float,
    region: str | None,
    profile: str | None,
    *,
    as_json: bool,
) -> None:
    """Bring the stack of SPEC up to a healthy endpoint.

    Run it again at any time: what is right is kept, what is missing is made, and nothing is made twice.
    """
    from deployer.cli.deciding import decided, decision_events, refuse_if_unfit
    from deployer.cli.next_commands import after_up
    from deployer.cli.patience import PatientDirectory

    settings = make_settings(region, profile, overrides)
    deployment = decided(spec, settings)
    name = deployment.spec.name
    with open_view(as_json=as_json) as view:
        for event in decision_events(deployment):
            view.emit(event)
        refuse_if_unfit(deployment)
        target = PatientDirectory(settings, view.emit, lock_wait).of(deployment)
        with interruptible(
            f"interrupted while {name} was going up",
            f"go on: deployer up {spec}\ntake it away: deployer down {name}",
        ):
            result = target.up(deployment)
        if not as_json:
            view.show(Event("next", {"commands": after_up(deployment, result)}))
