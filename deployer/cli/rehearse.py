"""`deployer rehearse`: the whole life of a stack against an embedded AWS, with no account and no internet."""

from __future__ import annotations

import importlib.util
import os
import signal
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click

from deployer.cli.options import SPEC, json_option, make_settings, set_option
from deployer.cli.session import interruptible, open_view
from deployer.clock import SystemClock
from deployer.errors import RefusedError

#: Modules that only the extra brings; the engine itself can also be a llama-server on PATH.
_EXTRA = ("moto", "gguf", "numpy")


@click.command()
@click.argument("spec", type=SPEC)
@click.option(
    "--machines",
    type=click.Choice(["auto", "booted", "process"]),
    default="auto",
    show_default=True,
    help="What an instance is here; auto takes the truest kind that this machine allows.",
)
@click.option("--keep", is_flag=True, help="Leave the temporary directory with consoles and logs.")
@set_option
@json_option
def rehearse(spec: Path, machines: str, overrides: tuple[str, ...], *, keep: bool, as_json: bool) -> None:
    """Prove SPEC end to end: plan, up, a real completion, a second up, status, down, and nothing left.

    Runs the unmodified commands against an embedded AWS whose instance really boots and really serves a tiny model.
    """
    from deployer.cli.deciding import decided

    require_extra()
    from deployer.rehearsal.run import Rehearsal

    deployment = decided(spec, make_settings(overrides=overrides))
    arguments = tuple(word for pair in overrides for word in ("--set", pair))
    signal.signal(signal.SIGTERM, _interrupt)
    with (
        open_view(as_json=as_json) as view,
        interruptible("rehearsal interrupted, everything was torn down", "run it again"),
    ):
        rehearsal = Rehearsal(spec, deployment, SystemClock(), view.emit, arguments=arguments)
        rehearsal.run(machines=machines, keep=keep, environ=os.environ)


def require_extra() -> None:
    """Raises RefusedError when the product was installed without the extra `rehearsal`."""
    missing = [module for module in _EXTRA if importlib.util.find_spec(module) is None]
    if missing:
        raise RefusedError(
            f"the rehearsal is not installed here: {', '.join(missing)} missing",
            hint="pip install 'deployer[rehearsal]'",
        )


def _interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
