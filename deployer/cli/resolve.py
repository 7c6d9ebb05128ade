"""From what the person typed (a name, a spec's path, nothing) to the stack that is meant."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from deployer.cli.patience import PatientDirectory
from deployer.errors import RefusedError, SpecError, UsageError
from deployer.events import Event
from deployer.settings import Settings
from deployer.targets.base import StackStatus
from deployer.targets.directory import Directory, Found, Place, region_of
from deployer.views.base import View

_NAME = re.compile(r"[a-z]([a-z0-9-]{0,30}[a-z0-9])?")
_TOP_LEVEL = re.compile(r"""^(name|target|region):[ \t]+["']?([A-Za-z0-9-]+)["']?[ \t]*(?:#.*)?$""", re.MULTILINE)


@dataclass(frozen=True)
class Named:
    """What an argument tells: kind and region only when it was a spec."""

    stack: str
    kind: str | None = None
    region: str | None = None


class NoStackError(RefusedError):
    """There is no stack to choose. everywhere: every place was looked at, so that is certain."""

    def __init__(self, message: str, *, everywhere: bool) -> None:
        super().__init__(message, hint="deployer up SPEC makes one")
        self.everywhere = everywhere


def named_by(argument: str, settings: Settings) -> Named:
    """A name as it is; of a path, the spec's name, target and region, even when the spec has mistakes.

    Raises UsageError when it is neither.
    """
    path = Path(argument)
    if argument.endswith((".yaml", ".yml")) or "/" in argument or path.is_file():
        return _from_spec(path, settings)
    if not _NAME.fullmatch(argument):
        raise UsageError(
            f"{argument!r} is neither a stack's name nor a spec's path", hint="deployer ls shows the names"
        )
    return Named(argument)


def _from_spec(path: Path, settings: Settings) -> Named:
    from deployer.spec.load import load_spec

    try:
        spec = load_spec(path, settings).spec
    except SpecError:
        found = dict(_TOP_LEVEL.findall(path.read_text(encoding="utf-8", errors="replace"))) if path.is_file() else {}
        if not _NAME.fullmatch(found.get("name", "")):
            raise
        return Named(found["name"], found.get("target"), settings.region or found.get("region"))
    return Named(spec.name, spec.target, getattr(spec, "region", None))


def chosen_stack(settings: Settings, view: View, argument: str | None, *, lock_wait: float = 0.0) -> Place:
    """The stack that was named; without an argument the only one, or the one picked on the terminal.

    lock_wait: patience with another operator in seconds. Raises NoStackError when there is none, UsageError when there
    are several and nobody to ask.
    """
    directory = PatientDirectory(settings, view.emit, lock_wait)
    if argument is not None:
        named = named_by(argument, settings)
        return directory.place(named.stack, named.kind, named.region)
    found = directory.look()
    match found.stacks:
        case ():
            raise NoStackError("there is no stack" + _places(settings, found), everywhere=not found.notes)
        case (only,):
            return _place(directory, only)
        case several:
            return _place(directory, _pick(several))


def every_stack(settings: Settings, view: View, *, ask: bool, lock_wait: float = 0.0) -> list[Place]:
    """All stacks there are, with a warning for every place that could not be looked at.

    ask: confirm on the terminal first. Raises UsageError when nobody can be asked.
    """
    directory = PatientDirectory(settings, view.emit, lock_wait)
    found = directory.look()
    for note in found.notes:
        view.emit(Event("warning", {"message": note}))
    names = ", ".join(status.stack for status in found.stacks)
    if found.stacks and ask:
        if not sys.stdin.isatty():
            raise UsageError(f"--all would take away {names}", hint="deployer down --all --yes")
        click.confirm(f"take away {names}?", abort=True, err=True)
    return [_place(directory, status) for status in found.stacks]


def _place(directory: Directory, status: StackStatus) -> Place:
    return directory.place(status.stack, status.target, status.region)


def _places(settings: Settings, found: Found) -> str:
    if found.notes:
        return " on this machine; " + "; ".join(found.notes)
    return f" on this machine or in {region_of(settings)}"


def _pick(stacks: tuple[StackStatus, ...]) -> StackStatus:
    names = [f"{status.stack} ({status.region or status.target})" for status in stacks]
    if not sys.stdin.isatty():
        raise UsageError(f"there are {len(stacks)} stacks: {', '.join(names)}", hint="name one of them")
    for number, name in enumerate(names, 1):
        click.echo(f"  {number}  {name}", err=True)
    number = click.prompt("which", type=click.IntRange(1, len(stacks)), err=True)
    return stacks[number - 1]
