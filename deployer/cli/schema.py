"""`deployer schema`: the JSON Schema that editors use."""

from __future__ import annotations

import json

import click

from deployer.cli.options import json_option


@click.command()
@json_option
def schema(*, as_json: bool) -> None:
    """Print the JSON Schema of a spec.

    The header line of each shipped stack points the editor to it:
    `# yaml-language-server: $schema=./deployer.schema.json` (`deployer init` writes that file).
    """
    from deployer.spec.schema import json_schema

    click.echo(json.dumps(json_schema(), indent=None if as_json else 2, ensure_ascii=False))
