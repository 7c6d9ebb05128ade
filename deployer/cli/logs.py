"""`deployer logs`: what a stack's machine and its engine have said."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterable

import click

from deployer.cli.options import aws_options, json_option, make_settings
from deployer.cli.pipes import drop_output
from deployer.cli.resolve import chosen_stack
from deployer.cli.session import open_view
from deployer.events import Event
from deployer.views.base import View


@click.command()
@click.argument("stack", required=False, metavar="[STACK|SPEC]")
@click.option("-f", "--follow", is_flag=True, help="Go on with what comes, until Ctrl-C.")
@click.option("--console", is_flag=True, help="The machine's console, with every boot line.")
@click.option("--engine", is_flag=True, help="llama-server's own log.")
@click.option("--lines", type=click.IntRange(0, 100_000), default=40, show_default=True, help="So many of each log.")
@aws_options
@json_option
def logs(
    stack: str | None,
    lines: int,
    region: str | None,
    profile: str | None,
    *,
    follow: bool,
    console: bool,
    engine: bool,
    as_json: bool,
) -> None:
    """Show the last lines of the agent and of the engine.

    The console comes through the AWS API: it shows also why a machine that nobody can log in to failed to start. The
    engine's log comes through SSH. With neither --console nor --engine: both, of the console what the agent says.
    """
    from deployer.targets import following, login
    from deployer.targets import logs as reading

    settings = make_settings(region, profile)
    want = reading.Want("all" if console else "none" if engine else "agent", engine or not console, lines)
    with open_view(as_json=True) if as_json else _log_view(named=want.console != "none" and want.engine) as view:
        source = login.logs(chosen_stack(settings, view, stack), settings)
        if not follow:
            _show(view, reading.read(source, want))
            return
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        _show(view, following.follow(source, want, stop))


def _show(view: View, events: Iterable[Event]) -> None:
    for event in events:
        try:
            view.emit(event)
        except BrokenPipeError:
            drop_output()
            return


def _log_view(*, named: bool) -> View:
    from deployer.views.logs import LogView

    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return LogView(sys.stdout, sys.stderr, colour=colour, named=named)
