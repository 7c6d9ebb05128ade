"""`deployer exec`: one command on a stack's machine."""

from __future__ import annotations

import os
import sys

import click

from deployer.cli.after_dashes import AfterDashes, after_dashes
from deployer.cli.options import aws_options, json_option, make_settings
from deployer.cli.pipes import SIGPIPE_STATUS, ReaderGone, drop_output, writer
from deployer.cli.resolve import chosen_stack
from deployer.cli.session import interruptible, open_view
from deployer.errors import DeployerError
from deployer.events import Event


class ExecConnectionError(DeployerError):
    """The command's exit status is not known. 255, as ssh has it, so that it cannot be taken for the command's own."""

    code = "ssh"
    exit_code = 255


class _Exec(AfterDashes):
    tail = "-- COMMAND [ARG]..."

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = args[: args.index("--")] if "--" in args else args
        nothing_to_run = len(args) <= len(own) + 1
        if nothing_to_run and not {"-h", "--help"} & set(own) and not ctx.resilient_parsing:
            raise click.UsageError("the command to run stands after `--`: deployer exec NAME -- COMMAND", ctx=ctx)
        return super().parse_args(ctx, args)


@click.command("exec", cls=_Exec)
@click.argument("stack", required=False, metavar="[STACK|SPEC]")
@aws_options
@json_option
@click.pass_context
def exec_command(
    ctx: click.Context, stack: str | None, region: str | None, profile: str | None, *, as_json: bool
) -> int:
    """Run a command on the stack's machine and end with its exit status.

    Arguments arrive exactly as given, no shell of the machine sees them: for a pipe, run `sh -c`. Standard input is
    forwarded unless it is a terminal. When the connection fails the status is 255. With --json: one object at the end.
    """
    from deployer.access.errors import SshError
    from deployer.access.running import run
    from deployer.access.ssh import connect
    from deployer.targets.login import login

    settings = make_settings(region, profile)
    argv = after_dashes(ctx)
    collected: dict[str, list[bytes]] = {"stdout": [], "stderr": []}
    out = collected["stdout"].append if as_json else writer(sys.stdout.buffer)
    err = collected["stderr"].append if as_json else writer(sys.stderr.buffer)
    with open_view(as_json=as_json) as view:
        access = login(chosen_stack(settings, view, stack))
        try:
            left = f"interrupted; {argv[0]} may still be running on {access.ssh.name}"
            with interruptible(left, "`deployer exec` can end it there"), connect(access.ssh) as session:
                status = run(session, argv, out=out, err=err, stdin=None if os.isatty(0) else 0)
        except SshError as error:
            raise ExecConnectionError(error.message, where=error.where, hint=error.hint) from error
        except ReaderGone:
            drop_output()
            return SIGPIPE_STATUS
        if as_json:
            texts = {name: b"".join(parts).decode(errors="replace") for name, parts in collected.items()}
            view.show(Event("exec", {"stack": access.stack, "exit_code": status, **texts}))
    return status
