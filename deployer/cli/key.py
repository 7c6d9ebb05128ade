"""`deployer key`: a stack's API key. It is never shown here; `deployer env` is the one command that prints it."""

from __future__ import annotations

import click

from deployer.cli.lazy import Lazy, LazyGroup

COMMANDS = {"rotate": Lazy("deployer.cli.key_rotate:rotate", "Give a stack a new API key; the old one stops working.")}


@click.group(cls=LazyGroup, table=COMMANDS, subcommand_metavar="COMMAND [ARGS]...")
def key() -> None:
    """The API key of a stack."""
