"""A command that takes what stands after `--` as it is: the first `--` is its own, whatever comes before it."""

from __future__ import annotations

import click

_META = "deployer.after_dashes"


class AfterDashes(click.Command):
    """Of `deployer exec NAME -- CMD ARG`, click sees `NAME` only; `after_dashes` gives the rest."""

    #: How usage shows what comes after the dashes.
    tail = "[-- ARG...]"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_META] = args[at + 1 :]
        return super().parse_args(ctx, args[:at])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), self.tail]


def after_dashes(ctx: click.Context) -> list[str]:
    """The arguments after the first `--`."""
    rest: list[str] = ctx.meta[_META]
    return rest
