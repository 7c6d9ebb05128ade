"""`deployer status`: one stack in detail, once or again and again."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Mapping

import click

from deployer.cli.options import aws_options, json_option, make_settings
from deployer.cli.resolve import chosen_stack
from deployer.cli.session import open_view
from deployer.clock import SystemClock
from deployer.events import Event, Json
from deployer.targets.base import StackStatus
from deployer.targets.directory import Place
from deployer.views.base import View

#: Seconds between two looks; each costs about ten AWS calls.
_EVERY_SECONDS = 5.0
_HOME_AND_CLEAR = "\x1b[H\x1b[J"


@click.command()
@click.argument("stack", required=False, metavar="[STACK|SPEC]")
@click.option("--watch", is_flag=True, help="Look again every 5 seconds until Ctrl-C; health that flaps is told.")
@aws_options
@json_option
def status(stack: str | None, region: str | None, profile: str | None, *, watch: bool, as_json: bool) -> None:
    """Show one stack: what exists of it, how far it is, whether it answers.

    STACK is its name or the path of its spec. Without it, the only stack there is. With --watch, health holds through
    one bad look, and Ctrl-C ends with 0: a watch has no other end.
    """
    from deployer.views.status import status_document

    settings = make_settings(region, profile)
    with open_view(as_json=as_json) as view:
        place = chosen_stack(settings, view, stack)
        if watch:
            _watch(place, view, clear=sys.stdout.isatty() and not as_json)
            return
        found = place.target.status(place.stack)
        view.show(Event("status", status_document(found, SystemClock().now())))


def _watch(place: Place, view: View, *, clear: bool) -> None:
    from deployer.health.latch import Latch
    from deployer.views.status import status_document

    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    latch, clock = Latch(), SystemClock()
    while True:
        found, now = place.target.status(place.stack), clock.now()
        health = latch.take(_good(found), now)
        document = status_document(found, now)
        held: dict[str, Json] = {**vars(health), "seconds": round(now - health.since, 1)}
        if clear:
            click.echo(_HOME_AND_CLEAR, nl=False, color=True)
        view.show(Event("status", {**document, "details": {"health": held, **found.details}}))
        if stop.wait(_EVERY_SECONDS):
            return


def _good(found: StackStatus) -> bool:
    """Every rung that was looked at passes, and the engine was among them; on this machine the agent's word counts."""
    if found.target == "local":
        return found.phase == "ready"
    probes = found.details.get("probes")
    looks = [probe for probe in probes if isinstance(probe, Mapping)] if isinstance(probes, list) else []
    deciding = {str(look["rung"]): look["state"] for look in looks if look["state"] != "warned"}
    return "models" in deciding and set(deciding.values()) == {"passed"}
