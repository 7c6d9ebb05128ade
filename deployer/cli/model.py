"""`deployer model`: what a GGUF is, and the way of one into S3."""

from __future__ import annotations

import os
import sys

import click

from deployer.cli.options import aws_options, json_option, make_settings
from deployer.clock import SystemClock
from deployer.errors import UsageError
from deployer.events import Event


@click.group()
def model() -> None:
    """Look into GGUF files and bring them into S3.

    \b
    deployer model inspect model.gguf
    deployer model inspect modelscope://unsloth/Qwen3.6-27B-MTP-GGUF/Qwen3.6-27B-Q4_K_M.gguf
    deployer model push Qwen3.6-27B --to s3://my-models/qwen
    """  # noqa: D301 — click wants the character


_quant = click.option("--quant", metavar="QUANT", help="Which quantisation, when MODEL is a name of the catalogue.")
_revision = click.option("--revision", metavar="REV", help="Branch, tag or commit, when the file lies on a model hub.")


@model.command()
@click.argument("place", metavar="FILE|URL")
@_quant
@_revision
@aws_options
@json_option
def inspect(
    place: str, quant: str | None, revision: str | None, region: str | None, profile: str | None, *, as_json: bool
) -> None:
    """Say what a GGUF is, reading only its header: architecture, quantisation, context, MTP head or not.

    FILE|URL is a file, modelscope://ORG/REPO/FILE, hf://ORG/REPO/FILE, https://HOST/PATH, s3://BUCKET/KEY, or a name of
    the catalogue.
    """
    from deployer.models.inspect import inspect as look
    from deployer.models.places import resolve
    from deployer.targets.directory import region_of
    from deployer.views.models import choose_model_view

    settings = make_settings(region, profile)
    where = region_of(settings)
    found = resolve(place, settings.mirrors, partition=_partition(where), quant=quant, revision=revision)
    document = look(found, settings, where, SystemClock())
    with choose_model_view(sys.stdout, os.environ, as_json=as_json) as view:
        view.show(Event("model", document))


@model.command()
@click.argument("name", metavar="MODEL")
@click.option("--to", required=True, metavar="s3://BUCKET/PREFIX", help="Where to; a last part in .gguf renames it.")
@click.option("--from", "origin", metavar="SOURCE", help="Where MODEL lies, as model.source in a spec.")
@_quant
@_revision
@click.option("--sha256", metavar="HEX", help="What the file must be; nothing is left of any other.")
@click.option("--replace", is_flag=True, help="Overwrite another object of that name.")
@click.option("--parallel", type=click.IntRange(1, 32), default=4, show_default=True, help="Parts under way at once.")
@click.option("--part-mib", type=click.IntRange(1), metavar="MIB", help="Size of a part; left out, by the file's size.")
@aws_options
@json_option
def push(
    name: str,
    to: str,
    origin: str | None,
    quant: str | None,
    revision: str | None,
    sha256: str | None,
    parallel: int,
    part_mib: int | None,
    region: str | None,
    profile: str | None,
    *,
    replace: bool,
    as_json: bool,
) -> None:
    """Bring MODEL from its hub into S3, part by part, and verify its sha256 before the object exists.

    MODEL is a name of the catalogue, or a file or URL as `inspect` takes it. After a kill or Ctrl-C the same command
    goes on where it stopped. Ends with the `model:` block for a spec.
    """
    from deployer.models.destination import destination
    from deployer.models.digests import is_sha256
    from deployer.models.places import resolve
    from deployer.models.push import Order
    from deployer.models.push import push as bring
    from deployer.targets.directory import region_of
    from deployer.views.models import choose_model_view

    settings = make_settings(region, profile)
    where = region_of(settings)
    if sha256 is not None and not is_sha256(sha256 := sha256.lower()):
        raise UsageError(f"{sha256!r} is not 64 hexadecimal digits", where="--sha256")
    place = resolve(name, settings.mirrors, partition=_partition(where), quant=quant, origin=origin, revision=revision)
    order = Order(place, destination(to, place.file), sha256, parallel, part_mib, replace)
    with choose_model_view(sys.stdout, os.environ, as_json=as_json) as view:
        view.show(Event("model.pushed", bring(order, settings, where, SystemClock(), view.emit)))


def _partition(region: str) -> str:
    """Of the hubs' mirrors; a region we do not know is refused later, where AWS is needed."""
    from deployer.catalog.partition import for_region

    found = for_region(region)
    return found.name if found else "aws-cn"
