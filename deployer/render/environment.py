"""The one Jinja environment: an undefined name is an error, and every value is quoted by a filter of its language."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from deployer.assets import folder
from deployer.render import quoting


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(folder("templates")),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - nothing here is HTML; each language has its own filter
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    for name in ("yaml_scalar", "yaml_block", "shell_quote", "systemd_quote", "systemd_text", "dockerfile_quote"):
        environment.filters[name] = _defined(getattr(quoting, name))
    return environment


def _defined(quote: Callable[..., str]) -> Callable[..., str]:
    def checked(value: Any, *arguments: Any) -> str:
        # The text of a StrictUndefined is its own error; a filter would meet it as a strange type.
        return quote(str(value) if isinstance(value, StrictUndefined) else value, *arguments)

    return checked


def render_template(name: str, **values: Any) -> str:
    """The template below templates/ with these values. Raises jinja2.UndefinedError on a name nobody gave."""
    return _environment().get_template(name).render(**values)
