"""`deployer ssh`: a shell on a stack's machine, by the system's own ssh."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
from typing import NoReturn

import click

from deployer.cli.after_dashes import AfterDashes, after_dashes
from deployer.cli.options import aws_options, json_option, make_settings
from deployer.cli.resolve import chosen_stack
from deployer.cli.session import open_view
from deployer.errors import RefusedError
from deployer.events import Event


@click.command(cls=AfterDashes)
@click.argument("stack", required=False, metavar="[STACK|SPEC]")
@click.option("--print", "only_print", is_flag=True, help="Print the ssh command instead of running it.")
@aws_options
@json_option
@click.pass_context
def ssh(
    ctx: click.Context,
    stack: str | None,
    region: str | None,
    profile: str | None,
    *,
    only_print: bool,
    as_json: bool,
) -> None:
    """Log in to the stack's machine with the system's ssh.

    It gets the stack's key and the host keys the machine printed on its console, and nothing of your own ssh
    configuration. What stands after `--` is given to ssh after the destination: options or a command.
    """
    from deployer.access.openssh import command, prepare
    from deployer.targets.login import login

    settings = make_settings(region, profile)
    with open_view(as_json=as_json) as view:
        access = login(chosen_stack(settings, view, stack))
        known_hosts = settings.home / "known_hosts" / access.region / access.stack
        prepare(access.ssh, known_hosts)
        words = command(access.ssh, known_hosts, after_dashes(ctx))
        if only_print:
            view.show(Event("command", {"command": list(words)}) if as_json else _as_text(words))
            return
    _become(words)


def _as_text(words: list[str]) -> Event:
    return Event("text", {"text": shlex.join(words)})


def _become(words: list[str]) -> NoReturn:
    """Replace this process by ssh, so that the terminal, its signals and the exit status are ssh's own."""
    program = shutil.which(words[0])
    if program is None:
        raise RefusedError(
            "there is no ssh program on this machine",
            where="PATH",
            hint="install OpenSSH's client, or run single commands with `deployer exec NAME -- COMMAND`",
        )
    sys.stdout.flush()
    # Python ignores SIGPIPE, and what is ignored stays so in the next program.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.execv(program, words)  # noqa: S606 — no shell is wanted
