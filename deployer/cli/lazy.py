"""A click group that imports a command's module only when that command runs, so that `--help` stays instant."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass

import click


@dataclass(frozen=True)
class Lazy:
    """Where a command lives. target: `module:attribute`. help: its line in the group's help. section: its heading."""

    target: str
    help: str
    section: str = "Commands"


class LazyGroup(click.Group):
    """table: command name -> Lazy, in the order in which help shows them."""

    def __init__(self, *args: object, table: Mapping[str, Lazy], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        lazy = self.table.get(cmd_name)
        if lazy is None:
            return None
        module, _, attribute = lazy.target.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{lazy.target} is not a command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.table and not name.startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"there is no command {name!r}{_meant(name, list(self.table))}", ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, lazy in self.table.items():
            sections.setdefault(lazy.section, []).append((name, lazy.help))
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)


def _meant(name: str, known: list[str]) -> str:
    import difflib

    close = difflib.get_close_matches(name, known, n=1)
    return f" — did you mean {close[0]!r}?" if close else ""
