"""The `deployer` program: the table of its commands and the one place where an error becomes text and an exit code."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
from typing import NoReturn

import click

from deployer.cli.lazy import Lazy, LazyGroup
from deployer.cli.surroundings import flush_streams, open_streams, treat_as_ctrl_c
from deployer.errors import EXIT_CODES, DeployerError, InterruptedByUser, UsageError

_DAILY = "Stacks"
_SPECS = "Specs"
_REHEARSAL = "Without an account"
_OTHER = "Other"

COMMANDS = {
    "up": Lazy("deployer.cli.up:up", "Bring a stack up to a healthy endpoint; again: change nothing.", _DAILY),
    "down": Lazy("deployer.cli.down:down", "Take a stack away and leave nothing behind.", _DAILY),
    "plan": Lazy("deployer.cli.plan:plan", "Show what `up` would decide and do, with the reasons.", _DAILY),
    "ls": Lazy("deployer.cli.ls:ls", "List every stack, here and in the region.", _DAILY),
    "status": Lazy("deployer.cli.status:status", "Show one stack in detail.", _DAILY),
    "tunnel": Lazy("deployer.cli.tunnel:tunnel", "Keep a tunnel to a stack's endpoint open.", _DAILY),
    "env": Lazy("deployer.cli.env:env", "Print OPENAI_BASE_URL and OPENAI_API_KEY for `eval`.", _DAILY),
    "key": Lazy("deployer.cli.key:key", "Give a stack a new API key.", _DAILY),
    "chat": Lazy("deployer.cli.chat:chat", "Talk to a stack's model.", _DAILY),
    "bench": Lazy("deployer.cli.bench:bench", "Measure how fast an endpoint is; compare two measurements.", _DAILY),
    "logs": Lazy("deployer.cli.logs:logs", "Show what a stack's machine and engine have said.", _DAILY),
    "ssh": Lazy("deployer.cli.ssh:ssh", "Log in to a stack's machine.", _DAILY),
    "exec": Lazy("deployer.cli.exec:exec_command", "Run a command on a stack's machine.", _DAILY),
    "extend": Lazy("deployer.cli.extend:extend", "Let a stack with a time to live run longer.", _DAILY),
    "tune": Lazy("deployer.cli.tune:tune", "Measure MTP on a stack's machine and keep the fastest.", _DAILY),
    "sweep": Lazy("deployer.cli.sweep:sweep", "Find and delete what no stack looks after any more.", _DAILY),
    "advise": Lazy("deployer.cli.advise:advise", "Which machine for which model, at what price.", _SPECS),
    "init": Lazy("deployer.cli.init:init", "Write a starter spec and the schema for the editor.", _SPECS),
    "validate": Lazy("deployer.cli.validate:validate", "Check specs; every mistake with its line and column.", _SPECS),
    "render": Lazy("deployer.cli.render:render", "Write out the files that would be sent.", _SPECS),
    "model": Lazy("deployer.cli.model:model", "Look into GGUF files and bring them into S3.", _SPECS),
    "image": Lazy("deployer.cli.image:image", "Build engine images and push them to the account's ECR.", _SPECS),
    "mirror": Lazy("deployer.cli.mirror:mirror", "Copy what a stack needs into the account's ECR.", _SPECS),
    "schema": Lazy("deployer.cli.schema:schema", "Print the JSON Schema of a spec.", _SPECS),
    "rehearse": Lazy("deployer.cli.rehearse:rehearse", "Prove a spec end to end in an embedded AWS.", _REHEARSAL),
    "sandbox": Lazy("deployer.cli.sandbox:sandbox", "Keep an embedded AWS running to try commands on.", _REHEARSAL),
    "doctor": Lazy("deployer.cli.doctor:doctor", "Look at the account: quotas, images, network.", _OTHER),
    "version": Lazy("deployer.cli.version:version", "Print the version.", _OTHER),
    "completion": Lazy("deployer.cli.completion:completion", "Print the shell completion script.", _OTHER),
}

_EPILOG = "Exit codes: " + ", ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items()) + "."


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    subcommand_metavar="COMMAND [ARGS]...",
)
def cli() -> None:
    """One YAML spec up to a healthy llama.cpp endpoint in AWS China, one command to take it away."""


def main() -> NoReturn:
    """Run the command line in sys.argv and end the process with the code of errors.EXIT_CODES."""
    open_streams()
    treat_as_ctrl_c()
    code = run(sys.argv[1:])
    flush_streams()
    # Everything is closed by now; taking hundreds of modules apart again would cost a tenth of a short command's time.
    os._exit(code)


def run(arguments: list[str]) -> int:
    """Run one command line and give its exit code. Errors are printed to stderr, never as a traceback."""
    # Pydantic would look for plugins in the metadata of every installed package; we use none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    if arguments[:1] in (["--version"], ["-V"]):
        arguments = ["version"]
    try:
        code = cli.main(arguments, prog_name="deployer", standalone_mode=False)
    except DeployerError as error:
        return _report(error, arguments)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except click.ClickException as error:
        return _report(_usage_error(error), arguments)
    except (click.Abort, KeyboardInterrupt):
        return _report(_interrupted(), arguments)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 1
    except Exception as error:  # noqa: BLE001 — the one place that may, so that nobody meets a traceback
        from deployer.cli.crash import unexpected

        return _report(unexpected(error, os.environ), arguments)
    return code if isinstance(code, int) else 0


def _report(error: DeployerError, arguments: list[str]) -> int:
    """Print the error where errors go and give its exit code."""
    from deployer.views import errors

    as_json = "--json" in itertools.takewhile(lambda word: word != "--", arguments)
    with contextlib.suppress(OSError):
        errors.show(error, sys.stderr, as_json=as_json, environ=os.environ)
    return error.exit_code


def _usage_error(error: click.ClickException) -> UsageError:
    context = error.ctx if isinstance(error, click.UsageError) else None
    where = context.command_path if context else None
    return UsageError(error.format_message().rstrip("."), where=where, hint=f"{where or 'deployer'} --help")


def _interrupted() -> InterruptedByUser:
    return InterruptedByUser(
        "interrupted", hint="what exists is recorded: `deployer ls` shows it, `deployer down NAME` takes it away"
    )
