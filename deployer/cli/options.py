"""Options that several commands share, and the Settings made from them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from deployer.errors import UsageError
from deployer.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])

#: A SPEC argument: an existing, readable file.
SPEC = click.Path(path_type=Path)


def json_option(command: F) -> F:
    """`--json`: one JSON object a line instead of text."""
    return click.option("--json", "as_json", is_flag=True, help="One JSON object a line, errors too.")(command)


def aws_options(command: F) -> F:
    """`--region` and `--profile`."""
    command = click.option("--profile", metavar="NAME", help="Profile of the AWS configuration.")(command)
    return click.option("--region", metavar="REGION", help="AWS region, above the spec and the environment.")(command)


_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds_in(text: str) -> float | None:
    """`90s`, `5m`, `1h`, `2d` as seconds, None for anything else."""
    match = re.fullmatch(r"([0-9]{1,6})([smhd])", text)
    return None if match is None else int(match.group(1)) * _SECONDS[match.group(2)]


def seconds_of(ctx: click.Context, param: click.Parameter, text: str) -> float:
    """An option's duration as seconds."""
    seconds = seconds_in(text)
    if seconds is None:
        raise click.BadParameter(f"{text!r} is no duration; write a number and a unit: 90s, 5m, 1h, 2d", ctx, param)
    return seconds


def lock_wait_option(command: F) -> F:
    """`--lock-wait`: patience with another operator."""
    return click.option(
        "--lock-wait",
        callback=seconds_of,
        metavar="DURATION",
        default="0s",
        help="Wait so long (90s, 5m) for another operator who works on the stack in EC2; left out, end with 8 at once.",
    )(command)


def set_option(command: F) -> F:
    """`--set KEY=VALUE`, repeatable: change a value of the spec for this call."""
    return click.option(
        "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change a value of the spec, repeatable."
    )(command)


def make_settings(region: str | None = None, profile: str | None = None, overrides: tuple[str, ...] = ()) -> Settings:
    """Settings from the environment and these flags. Raises UsageError on an override without `=`, or no such region.

    `--region` counts more than the region in a spec, the environment counts less.
    """
    if region:
        _check_region(region, "--region")
    elif given := os.environ.get("DEPLOYER_REGION"):
        _check_region(given, "DEPLOYER_REGION")
    overrides = (*overrides, f"region={region}") if region else overrides
    return Settings.from_env(os.environ, region=region, profile=profile, overrides=overrides)


def _check_region(name: str, where: str) -> None:
    from deployer.spec.names import unknown_region

    if why := unknown_region(name):
        raise UsageError(why, where=where, hint="deployer ls --region cn-northwest-1")
