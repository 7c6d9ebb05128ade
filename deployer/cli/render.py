"""`deployer render`: the files that would be sent, written to a folder."""

from __future__ import annotations

from pathlib import Path

import click

from deployer.cli.options import SPEC, aws_options, json_option, make_settings, set_option
from deployer.cli.session import open_view
from deployer.events import Event


@click.command()
@click.argument("spec", type=SPEC)
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="The folder to write into."
)
@set_option
@aws_options
@json_option
def render(
    spec: Path, out: Path, overrides: tuple[str, ...], region: str | None, profile: str | None, *, as_json: bool
) -> None:
    """Write what would be sent for SPEC: user-data, unit, agent configuration, Dockerfiles."""
    from deployer.cli.deciding import decided, rendered_files

    deployment = decided(spec, make_settings(region, profile, overrides))
    written: list[str] = []
    for name, text in rendered_files(deployment).items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written.append(str(path))
    with open_view(as_json=as_json) as view:
        view.show(Event("written", {"files": [*written]}))
