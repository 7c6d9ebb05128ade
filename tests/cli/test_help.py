"""Help is complete and costs no import of what it describes."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from deployer.cli.app import COMMANDS, cli
from deployer.errors import EXIT_CODES


def _leaves() -> list[str]:
    """Every command, those of groups with the group's name before them."""
    context = click.Context(cli)
    leaves = []
    for name in COMMANDS:
        command = cli.get_command(context, name)
        inner = command.list_commands(context) if isinstance(command, click.Group) else []
        leaves += [f"{name} {one}" for one in inner] or [name]
    return leaves


def test_it_names_every_command_and_exit_code(deployer) -> None:
    ran = deployer("--help")
    assert ran.code == 0 and ran.err == ""
    for command, lazy in COMMANDS.items():
        assert f"  {command} " in ran.out
        assert lazy.help in ran.out
    text = " ".join(ran.out.split())
    assert all(f"{code} {meaning}" in text for code, meaning in EXIT_CODES.items())


@pytest.mark.parametrize("command", ["sandbox", "completion"])
def test_examples_keep_their_lines(command, deployer) -> None:
    shown = deployer(command, "--help").out
    assert "\b" not in shown and "\\b" not in shown
    lines = [line.strip() for line in shown.splitlines()]
    assert "deployer sandbox stop" in lines or any(line.startswith("zsh:") for line in lines)


@pytest.mark.parametrize("command", _leaves())
def test_every_command_explains_itself_and_knows_json(command, deployer) -> None:
    ran = deployer(*command.split(), "--help")
    assert ran.code == 0
    assert "Usage: deployer " + command in ran.out
    assert "--json" in ran.out


def test_help_imports_no_command_and_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from deployer.cli.app import run\n"
        "run(['--help'])\n"
        "print([m for m in sys.modules if m.startswith(('deployer.', 'rich', 'pydantic', 'boto', 'ruamel'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(eval(done.stdout.splitlines()[-1]))
    assert loaded == {
        "deployer.cli",
        "deployer.cli.app",
        "deployer.cli.lazy",
        "deployer.cli.surroundings",
        "deployer.errors",
    }


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell, deployer) -> None:
    ran = deployer("completion", shell)
    assert ran.code == 0
    assert "_DEPLOYER_COMPLETE" in ran.out
    assert deployer("completion", shell, "--json").document["script"].strip() == ran.out.strip()


def test_completion_completes(deployer) -> None:
    ran = deployer(_DEPLOYER_COMPLETE="bash_complete", COMP_WORDS="deployer re", COMP_CWORD="1")
    assert {line.split(",")[1] for line in ran.out.splitlines()} == {"rehearse", "render"}


def test_version(deployer) -> None:
    import deployer as package

    assert deployer("version").out == f"deployer {package.__version__}\n"
    assert deployer("--version").out == f"deployer {package.__version__}\n"
    assert deployer("version", "--json").document["version"] == package.__version__
