"""`deployer doctor`: what of the account stands in the way of any stack."""

from __future__ import annotations

import click

from deployer.cli.options import aws_options, json_option, make_settings
from deployer.cli.session import open_view
from deployer.events import Event


@click.command()
@aws_options
@json_option
def doctor(region: str | None, profile: str | None, *, as_json: bool) -> None:
    """Look at the account and the region without changing anything: identity, quotas, network.

    Ends with 3 when something refuses every stack.
    """
    from deployer.aws.preflight import account_checks
    from deployer.aws.session import connect
    from deployer.errors import RefusedError
    from deployer.targets.directory import region_of

    settings = make_settings(region, profile)
    with open_view(as_json=as_json) as view:
        aws = connect(region_of(settings), settings, emit=view.emit)
        checks = account_checks(aws)
        view.show(Event("preflight", {"checks": [vars(check) for check in checks]}))
    refused = [check for check in checks if check.verdict == "refuse"]
    if refused:
        raise RefusedError(refused[0].text, where=refused[0].name, hint=refused[0].fix)
