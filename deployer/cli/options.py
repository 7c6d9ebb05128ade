"""Options that several commands share, and the Settings made from them."""

from __future__ import annotations

import os
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
        from deployer.spec.names import unknown_region

        if why := unknown_region(region):
            raise UsageError(why, where="--region", hint="deployer ls --region cn-northwest-1")
    overrides = (*overrides, f"region={region}") if region else overrides
    return Settings.from_env(os.environ, region=region, profile=profile, overrides=overrides)
