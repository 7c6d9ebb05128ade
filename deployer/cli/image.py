"""`deployer image`: engine images built here, tried, and pushed to the account's ECR."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from deployer.cli.options import aws_options, json_option, make_settings, set_option
from deployer.cli.session import interruptible, open_view
from deployer.clock import SystemClock
from deployer.errors import UsageError
from deployer.events import Event, Json

if TYPE_CHECKING:
    from deployer.aws.session import Aws
    from deployer.images.build import Bases
    from deployer.images.recipe import Recipe
    from deployer.settings import Settings
    from deployer.views.base import View

_what = click.argument("what", metavar="SPEC|TYPE")


@click.group()
def image() -> None:
    """Build, push and list the container images that engines run from.

    \b
    deployer image build stacks/c8g-35b-a3b.yaml --source xllamacpp-2026.10.11549.tar.gz --base debian@sha256:...
    deployer image push stacks/c8g-35b-a3b.yaml
    deployer image ls

    SPEC|TYPE is a spec's path or an instance type such as c8g.4xlarge; the image is made for that hardware. Images are
    built on this machine, by its docker or podman, or with --on-instance on a builder in the region.
    """  # noqa: D301 - click reads a real \b


@image.command()
@_what
@click.option("--source", type=click.Path(path_type=Path), required=True, help="The pinned source archive.")
@click.option("--base", metavar="IMAGE", required=True, help="What it runs on: Debian 12 or newer, for cuda a runtime.")
@click.option("--build-image", metavar="IMAGE", help="What the cuda build compiles on: a CUDA devel image.")
@click.option("--model", type=click.Path(path_type=Path), help="A small GGUF to try the image with.")
@click.option(
    "--on-instance",
    is_flag=True,
    help="Build on an instance of the region that lives as long as the build, and push from there. It is billed.",
)
@click.option("--builder-type", metavar="TYPE", help="Which instance builds; 16 cores of the architecture otherwise.")
@set_option
@aws_options
@json_option
def build(
    what: str,
    source: Path,
    base: str,
    build_image: str | None,
    model: Path | None,
    builder_type: str | None,
    overrides: tuple[str, ...],
    region: str | None,
    profile: str | None,
    *,
    on_instance: bool,
    as_json: bool,
) -> None:
    """Build the image for SPEC|TYPE and, with --model, load that model in it and ask for a completion."""
    from deployer.images.build import Bases, check_bases, check_source
    from deployer.images.build import build as build_image_of
    from deployer.images.builder import find_builder
    from deployer.images.recipe import recipe_for
    from deployer.images.smoke import has_mtp_head, smoke_test
    from deployer.render.dockerfiles import SOURCE

    settings = make_settings(region, profile, overrides)
    recipe = recipe_for(what, settings)
    bases = Bases(base, build_image)
    loose = check_bases(recipe, bases)
    archive = check_source(source)
    if model is not None:
        has_mtp_head(model)  # a file that is no model is told before the build, not after it
    if on_instance or builder_type:
        _build_in_region(what, recipe, archive, bases, loose, model, builder_type, settings, as_json=as_json)
        return
    builder = find_builder(recipe.platform)
    clock = SystemClock()
    with (
        open_view(as_json=as_json) as view,
        interruptible("interrupted while an image was built", "build again: what was built already is kept"),
    ):
        _warn_of_loose(loose, view)
        seconds = build_image_of(recipe, builder, archive, bases, clock=clock, emit=view.emit)
        tried = smoke_test(recipe, builder, model, clock=clock, emit=view.emit) if model else None
        if tried is None:
            hint = "--model FILE loads a small GGUF in it: only that shows that the build fits the CPU"
            view.emit(Event("warning", {"message": f"{recipe.name} was built but not tried", "hint": hint}))
        document = Event(
            "image.built",
            {
                "image": recipe.name,
                "build": recipe.build.name,
                "architecture": recipe.build.architecture,
                "flags": [*recipe.flags],
                "source_sha256": SOURCE.sha256,
                "builder": builder.program,
                "seconds": seconds,
                "smoke_test": tried,
            },
        )
        view.show(document)


def _build_in_region(
    what: str,
    recipe: Recipe,
    archive: Path,
    bases: Bases,
    loose: list[str],
    model: Path | None,
    builder_type: str | None,
    settings: Settings,
    *,
    as_json: bool,
) -> None:
    from deployer.images.on_instance import Order, build_on_instance
    from deployer.render.dockerfiles import SOURCE

    if recipe.build.name == "cuda" and model is not None and builder_type is None:
        raise UsageError(
            "the builder has no GPU to try the image on", where="--model", hint="--builder-type g5.4xlarge"
        )
    order = Order(recipe, archive, bases, model, builder_type)
    region = _region_for(what, settings)
    with (
        open_view(as_json=as_json) as view,
        interruptible("interrupted while an image was built", f"nothing may be left of {order.stack}: deployer ls"),
    ):
        _warn_of_loose(loose, view)
        done = build_on_instance(order, settings, region, clock=SystemClock(), emit=view.emit)
        facts: dict[str, Json] = {
            "build": recipe.build.name,
            "architecture": recipe.build.architecture,
            "flags": [*recipe.flags],
        }
        document: dict[str, Json] = {**facts, "source_sha256": SOURCE.sha256, "builder": order.stack, **done}
        view.show(Event("image.built", document))


def _warn_of_loose(images: list[str], view: View) -> None:
    for name in images:
        view.emit(Event("warning", {"message": f"{name} names no digest", "hint": "NAME@sha256:DIGEST"}))


@image.command()
@_what
@click.option("--replace", is_flag=True, help="Give the tag to this image when another one has it.")
@set_option
@aws_options
@json_option
def push(
    what: str,
    overrides: tuple[str, ...],
    region: str | None,
    profile: str | None,
    *,
    replace: bool,
    as_json: bool,
) -> None:
    """Push the image of SPEC|TYPE to the account's ECR, where `up` finds it. Again: sends nothing."""
    from deployer.images.builder import find_builder
    from deployer.images.push import push as push_image
    from deployer.images.recipe import recipe_for

    settings = make_settings(region, profile, overrides)
    recipe = recipe_for(what, settings)
    builder = find_builder()
    aws = connect_for(what, settings)
    with (
        open_view(as_json=as_json) as view,
        interruptible("interrupted while an image was pushed", "push again: layers that arrived are kept"),
    ):
        view.show(Event("image.pushed", push_image(recipe, builder, aws, replace=replace, emit=view.emit)))


@image.command("ls")
@aws_options
@json_option
def ls(region: str | None, profile: str | None, *, as_json: bool) -> None:
    """List the engine images in the account's ECR."""
    from deployer.images.listing import listing

    aws = connect_for(None, make_settings(region, profile))
    with open_view(as_json=as_json) as view:
        view.show(Event("images", listing(aws)))


def connect_for(what: str | None, settings: Settings) -> Aws:
    """The region of --region, else the spec's, else the environment's."""
    from deployer.aws.session import connect

    return connect(_region_for(what, settings), settings)


def _region_for(what: str | None, settings: Settings) -> str:
    from deployer.cli.resolve import named_by
    from deployer.targets.directory import region_of

    region = settings.region
    if region is None and what is not None and (what.endswith((".yaml", ".yml")) or Path(what).is_file()):
        region = named_by(what, settings).region
    return region or region_of(settings)
