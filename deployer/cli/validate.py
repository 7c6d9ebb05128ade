"""`deployer validate`: every mistake of every file, with its line and column."""

from __future__ import annotations

from pathlib import Path

import click

from deployer.cli.options import SPEC, aws_options, json_option, make_settings, set_option
from deployer.cli.session import open_view
from deployer.errors import Diagnostic, SpecError
from deployer.events import Event


@click.command()
@click.argument("specs", metavar="SPEC...", type=SPEC, nargs=-1, required=True)
@set_option
@aws_options
@json_option
def validate(
    specs: tuple[Path, ...], overrides: tuple[str, ...], region: str | None, profile: str | None, *, as_json: bool
) -> None:
    """Check specs without asking AWS anything."""
    from deployer.cli.deciding import decided

    settings = make_settings(region, profile, overrides)
    good: list[str] = []
    mistakes: list[Diagnostic] = []
    hint = None
    for spec in specs:
        try:
            decided(spec, settings)
            good.append(str(spec))
        except SpecError as error:
            mistakes += error.diagnostics
            hint = hint or error.hint
    with open_view(as_json=as_json) as view:
        if good or not mistakes:
            view.show(Event("validated", {"ok": not mistakes, "files": [*good]}))
    if mistakes:
        raise SpecError(mistakes, hint=hint)
