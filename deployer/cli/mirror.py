"""`deployer mirror`: what a stack needs from outside, copied into the account by a machine that reaches both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from deployer.cli.options import aws_options, json_option, make_settings, set_option
from deployer.cli.session import interruptible, open_view
from deployer.errors import RefusedError
from deployer.events import Event, Json

if TYPE_CHECKING:
    from deployer.catalog.types import Architecture


@click.group()
def mirror() -> None:
    """Copy what a stack needs into your account."""


@mirror.command()
@click.argument("what", metavar="SPEC|TYPE")
@click.option("--from", "sources", multiple=True, metavar="IMAGE", help="HOST/NAME:TAG[@sha256:...]; repeatable.")
@set_option
@aws_options
@json_option
def images(
    what: str,
    sources: tuple[str, ...],
    overrides: tuple[str, ...],
    region: str | None,
    profile: str | None,
    *,
    as_json: bool,
) -> None:
    """Copy the container images that SPEC|TYPE needs into the account's ECR; again: sends nothing.

    \b
    deployer mirror images stacks/g5-27b-mtp.yaml
    deployer mirror images c8g.4xlarge --from registry.example.com/llama.cpp:server@sha256:...

    Run it where both registries are reached; no docker is needed. Without --from it is AWS's own llama.cpp container
    from its public registry, and `up` finds the copy by itself. Of an image for several architectures the one of
    SPEC|TYPE is taken. The digest stays the same.
    """  # noqa: D301 - click reads a real \b
    from deployer.catalog import registry
    from deployer.cli.image import connect_for
    from deployer.images.mirror import mirror as copy_image
    from deployer.images.recipe import recipe_for
    from deployer.images.reference import parse

    settings = make_settings(region, profile, overrides)
    recipe = recipe_for(what, settings)
    architecture: Architecture = "arm64" if recipe.build.architecture == "arm64" else "x86_64"
    offer = registry.public_image(architecture, gpu=recipe.build.name == "cuda")
    wanted = [parse(text) for text in sources or filter(None, (offer,))]
    if not wanted:
        raise RefusedError(f"AWS has no llama.cpp container for {recipe.hardware}", hint="name an image with --from")
    aws = connect_for(what, settings)
    with (
        open_view(as_json=as_json) as view,
        interruptible("interrupted while images were copied", "run it again: layers that arrived are kept"),
    ):
        copies: list[Json] = [copy_image(source, architecture, aws, emit=view.emit) for source in wanted]
        view.show(Event("images.mirrored", {"images": copies}))
