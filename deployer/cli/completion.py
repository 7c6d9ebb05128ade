"""`deployer completion`: the script that makes a shell complete commands and options."""

from __future__ import annotations

import json

import click

from deployer.cli.options import json_option


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option
def completion(shell: str, *, as_json: bool) -> None:
    """Print the completion script of SHELL.

    \b
    bash:  eval "$(deployer completion bash)"           in ~/.bashrc
    zsh:   eval "$(deployer completion zsh)"            in ~/.zshrc
    fish:  deployer completion fish > ~/.config/fish/completions/deployer.fish
    """  # noqa: D301 — click wants the character
    from click.shell_completion import get_completion_class

    from deployer.cli.app import cli

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    complete = kind(cli, {}, "deployer", "_DEPLOYER_COMPLETE")
    # The template itself: `source()` would also insist on a bash of its own on PATH.
    script = complete.source_template % complete.source_vars()
    click.echo(json.dumps({"shell": shell, "script": script}) if as_json else script)
