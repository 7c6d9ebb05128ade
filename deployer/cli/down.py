"""`deployer down`: take a stack away, by name, by spec, or simply the only one."""

from __future__ import annotations

from contextlib import suppress

import click

from deployer.cli.options import aws_options, json_option, lock_wait_option, make_settings
from deployer.cli.resolve import NoStackError, chosen_stack, every_stack
from deployer.cli.session import interruptible, open_view
from deployer.errors import DeployerError, InterruptedByUser, TeardownIncomplete, UsageError
from deployer.events import Event
from deployer.settings import Settings
from deployer.targets.directory import Place
from deployer.views.base import View


@click.command()
@click.argument("stack", required=False, metavar="[STACK|SPEC]")
@click.option("--all", "everything", is_flag=True, help="Every stack, here and in the region.")
@click.option("--yes", is_flag=True, help="Do not ask before --all.")
@lock_wait_option
@aws_options
@json_option
def down(
    stack: str | None,
    lock_wait: float,
    region: str | None,
    profile: str | None,
    *,
    everything: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Take a stack away and end only when nothing of it is left.

    STACK is its name or the path of its spec. Without it, the only stack there is. Works from any machine and on
    stacks that are half made; nothing that is not tagged as the stack's is touched.
    """
    if stack and everything:
        raise UsageError(f"both {stack} and --all were given", hint=f"deployer down {stack}, or deployer down --all")
    settings = make_settings(region, profile)
    with open_view(as_json=as_json) as view:
        if everything:
            places = every_stack(settings, view, ask=not yes, lock_wait=lock_wait)
        else:
            places = _the_one(settings, view, stack, lock_wait)
        if not places:
            view.emit(Event("down.summary", {"stack": None, "deleted": [], "remaining": [], "seconds": 0.0}))
        _take_away(places, view)


def _the_one(settings: Settings, view: View, stack: str | None, lock_wait: float) -> list[Place]:
    """The stack that is meant; none when there certainly is none, which is what `down` wants to reach."""
    try:
        return [chosen_stack(settings, view, stack, lock_wait=lock_wait)]
    except NoStackError as nothing:
        if nothing.everywhere:
            return []
        raise


def _take_away(places: list[Place], view: View) -> None:
    """Take all of them away, also when one of them fails; then raise the first failure."""
    failures: list[DeployerError] = []
    for place in places:
        try:
            with interruptible(f"interrupted while {place.stack} was going down", f"deployer down {place.stack}"):
                _tell_spent(place, view)
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


def _tell_spent(place: Place, view: View) -> None:
    """What the stack has cost, asked while it can still be asked.

    Nothing that goes wrong with it, an answer of an unknown shape included, may keep a stack from being taken away.
    """
    from deployer.targets.base import spent_document

    with suppress(Exception):
        document = spent_document(place.target.spent(place.stack))
        if isinstance(document, dict):
            view.emit(Event("spent", {"stack": place.stack, "priced": place.kind == "ec2", **document}))
