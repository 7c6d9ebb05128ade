"""`deployer version`."""

from __future__ import annotations

import click

from deployer import __version__
from deployer.cli.options import json_option


@click.command()
@json_option
def version(*, as_json: bool) -> None:
    """Print the version."""
    import json
    import platform

    if as_json:
        click.echo(json.dumps({"version": __version__, "python": platform.python_version()}))
    else:
        click.echo(f"deployer {__version__}")
