"""`deployer sandbox rootfs`: build what booted machines stand on, once."""

from __future__ import annotations

import click

from deployer.cli.options import json_option
from deployer.cli.rehearse import require_extra
from deployer.cli.session import open_view
from deployer.events import Event


@click.command()
@click.option("--mirror", metavar="URL", help="Base URL of a Debian archive; by default this machine's own sources.")
@click.option("--again", is_flag=True, help="Build it anew although it is there.")
@json_option
def rootfs(mirror: str | None, *, again: bool, as_json: bool) -> None:
    """Build the machine image for `--machines booted`: about a minute, 260 MB in the cache, root only."""
    require_extra()
    from deployer.rehearsal.machines.booted.rootfs import build_rootfs

    with open_view(as_json=as_json) as view:

        def progress(what: str) -> None:
            view.emit(Event("waiting", {"what": "the machine image", "observation": what}))

        path = build_rootfs(progress, mirror=mirror, again=again)
        view.show(Event("written", {"files": [str(path)]}))
