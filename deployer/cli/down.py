"""`deployer down`: take a stack away, by name, by spec, or simply the only one."""

from __future__ import annotations

import click

from deployer.cli.options import aws_options, json_option, make_settings
from deployer.cli.resolve import chosen_stack, every_stack
from deployer.cli.session import interruptible, open_view
from deployer.errors import DeployerError, InterruptedByUser, TeardownIncomplete, UsageError
from deployer.targets.directory import Place


@click.command()
@click.argument("stack", required=False, metavar="[STACK|SPEC]")
@click.option("--all", "everything", is_flag=True, help="Every stack, here and in the region.")
@click.option("--yes", is_flag=True, help="Do not ask before --all.")
@aws_options
@json_option
def down(
    stack: str | None, region: str | None, profile: str | None, *, everything: bool, yes: bool, as_json: bool
) -> None:
    """Take a stack away and end only when nothing of it is left.

    STACK is its name or the path of its spec. Without it, the only stack there is. Works from any machine and on
    stacks that are half made; nothing that is not tagged as the stack's is touched.
    """
    if stack and everything:
        raise UsageError(f"both {stack} and --all were given", hint=f"deployer down {stack}, or deployer down --all")
    settings = make_settings(region, profile)
    with open_view(as_json=as_json) as view:
        places = every_stack(settings, view, ask=not yes) if everything else [chosen_stack(settings, view, stack)]
        _take_away(places)


def _take_away(places: list[Place]) -> None:
    """Take all of them away, also when one of them fails; then raise the first failure."""
    failures: list[DeployerError] = []
    for place in places:
        try:
            with interruptible(f"interrupted while {place.stack} was going down", f"deployer down {place.stack}"):
                result = place.target.down(place.stack)
            if result.remaining:
                raise TeardownIncomplete(
                    f"{place.stack}: still there: {', '.join(result.remaining)}", hint=f"deployer down {place.stack}"
                )
        except InterruptedByUser:
            raise
        except DeployerError as error:
            failures.append(error)
    if failures:
        raise failures[0]
