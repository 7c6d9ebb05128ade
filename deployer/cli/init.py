"""`deployer init`: a starter spec to edit, with the schema for the editor beside it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click

from deployer.cli.options import json_option
from deployer.cli.session import open_view
from deployer.errors import UsageError
from deployer.events import Event

_NAME = re.compile(r"[a-z]([a-z0-9-]{0,30}[a-z0-9])?")
_NAME_LINE = re.compile(r"^name:.*$", re.MULTILINE)
SCHEMA_FILE = "deployer.schema.json"


@click.command()
@click.argument("name", required=False, metavar="[NAME|PATH]")
@click.option(
    "--from", "source", default="g5-27b-mtp", show_default=True, metavar="STACK", help="The stack to start from."
)
@click.option("--list", "only_list", is_flag=True, help="List the stacks to start from.")
@click.option("--force", is_flag=True, help="Overwrite a spec that is there.")
@json_option
def init(name: str | None, source: str, *, only_list: bool, force: bool, as_json: bool) -> None:
    """Write a starter spec: NAME.yaml here, or the file PATH.

    Its schema is written beside it as deployer.schema.json, which editors use for completion and checks.
    """
    stacks = shipped()
    with open_view(as_json=as_json) as view:
        if only_list:
            view.show(Event("starters", {"stacks": {stack: _purpose(path) for stack, path in stacks.items()}}))
            return
        if source not in stacks:
            raise UsageError(f"there is no stack {source!r} to start from", hint=f"--from one of {', '.join(stacks)}")
        path = _path(name or source)
        if path.exists() and not force:
            raise UsageError(f"{path} is there already", where=str(path), hint="another NAME, or --force to overwrite")
        written = _write(path, stacks[source].read_text(encoding="utf-8"))
        view.show(Event("written", {"files": [str(file) for file in written]}))


def shipped() -> dict[str, Path]:
    """Name -> file of every stack that comes with the product."""
    from deployer.assets import folder

    return {path.stem: path for path in sorted(folder("stacks").glob("*.yaml"))}


def _path(name: str) -> Path:
    path = Path(name) if name.endswith((".yaml", ".yml")) else Path(f"{name}.yaml")
    if not _NAME.fullmatch(path.stem):
        raise UsageError(
            f"{path.stem!r} cannot be a stack's name",
            hint="at most 32 lower case letters, digits and hyphens, starting with a letter",
        )
    return path


def _write(path: Path, text: str) -> list[Path]:
    from deployer.spec.schema import json_schema

    schema = path.with_name(SCHEMA_FILE)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_NAME_LINE.sub(f"name: {path.stem}", text, count=1), encoding="utf-8")
    schema.write_text(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return [path, schema]


def _purpose(path: Path) -> str:
    """The comment that says what a shipped stack is for."""
    comments = [line[2:] for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("# ")]
    return comments[1] if len(comments) > 1 else ""
