"""`deployer tunnel`: the stack's endpoint on this machine, until Ctrl-C."""

from __future__ import annotations

import signal
import threading

import click

from deployer.cli.options import aws_options, json_option, make_settings
from deployer.cli.resolve import chosen_stack
from deployer.cli.session import open_view
from deployer.events import Event

#: How often the tunnel is looked at while it is held open, in seconds.
_LOOK_SECONDS = 1.0


@click.command()
@click.argument("stack", required=False, metavar="[STACK|SPEC]")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Local port; left out, the endpoint's own. 0: any free port."
)
@aws_options
@json_option
def tunnel(stack: str | None, port: int | None, region: str | None, profile: str | None, *, as_json: bool) -> None:
    """Open the stack's endpoint on this machine and keep it open until Ctrl-C.

    A connection that breaks is made again by the next request; when the instance has ended, so does the tunnel (6).
    """
    from deployer.targets.reach import InstanceGoneError, reach

    settings = make_settings(region, profile)
    with open_view(as_json=as_json) as view:
        way = reach(chosen_stack(settings, view, stack), settings)
        fields = {"stack": way.stack, "alias": way.alias}
        if way.open_tunnel is None:
            view.emit(Event("tunnel", {**fields, "url": way.url, "needed": False}))
            return
        with way.open_tunnel(way.port if port is None else port) as opened:
            stop = threading.Event()
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: stop.set())
            url = f"{way.scheme}://127.0.0.1:{opened.local_port}/v1"
            view.emit(Event("tunnel", {**fields, "url": url, "needed": True}))
            said = None
            while not stop.wait(_LOOK_SECONDS):
                if opened.last_error is not said:
                    said = opened.last_error
                    if isinstance(said, InstanceGoneError):
                        raise said
                    view.emit(Event("warning", {"message": said.message if said else "the tunnel leads through again"}))
