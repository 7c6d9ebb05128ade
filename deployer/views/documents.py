"""Finished documents as text: which function prints which."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from typing import TextIO

from deployer.events import Event, Json
from deployer.views.table import Page

#: What a shell may have set that would lead past a sandbox.
_LEADS_ELSEWHERE = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "DEPLOYER_REGION")


def print_document(document: Event, stream: TextIO, *, colour: bool, width: int | None) -> None:
    """Print a document for a person. width None follows the terminal. Raises ValueError for a name nobody prints."""
    fields = document.fields
    match document.name:
        case "env":
            stream.write(_exports(fields))
        case "sandbox.env":
            stream.write(f"unset {' '.join(_LEADS_ELSEWHERE)}\n{_exports(fields)}")
        case "version":
            stream.write(f"deployer {fields['version']}\n")
        case "text":
            stream.write(f"{str(fields['text']).rstrip()}\n")
        case "validated":
            stream.write("".join(f"{file}: ok\n" for file in _strings(fields.get("files"))))
        case "written":
            stream.write("".join(f"wrote {file}\n" for file in _strings(fields.get("files"))))
        case "starters":
            stacks = fields.get("stacks")
            stream.write("".join(f"{k:20} {v}\n" for k, v in stacks.items()) if isinstance(stacks, dict) else "")
        case "next":
            stream.write(_next_commands(fields.get("commands")))
        case "sandbox.started":
            stream.write(_sandbox_started(fields))
        case "sandbox.stopped":
            stream.write("the sandbox is gone\n" if fields["was_running"] else "no sandbox was running\n")
        case _:
            page = Page(width or shutil.get_terminal_size().columns, colour)
            stream.write("\n".join(_lines(document, page)) + "\n")


def _exports(fields: Mapping[str, Json]) -> str:
    return "".join(f"export {name}={shlex.quote(str(value))}\n" for name, value in fields.items())


def _strings(value: Json) -> list[str]:
    return [str(v) for v in value] if isinstance(value, list) else []


def _next_commands(commands: Json) -> str:
    """Pairs of command and what it is for, under one heading."""
    pairs = [(str(c[0]), str(c[1])) for c in commands if isinstance(c, list)] if isinstance(commands, list) else []
    width = max((len(command) for command, purpose in pairs if purpose), default=0)
    lines = [f"  {command.ljust(width)}  # {purpose}" if purpose else f"  {command}" for command, purpose in pairs]
    return "\n".join(["", "next:", *lines, ""])


def _sandbox_started(fields: Mapping[str, Json]) -> str:
    swaps = "".join(f"  {swap}\n" for swap in _strings(fields.get("substitutions")))
    said = f"an embedded AWS runs at {fields['url']} (pid {fields['pid']})\n"
    if swaps:
        said += f"real in AWS, substituted here:\n{swaps}"
    return said + '\nnext, in every shell that should use it:\n  eval "$(deployer sandbox env)"\n'


def _lines(document: Event, page: Page) -> list[str]:
    from deployer.views import advice, bench, images, plan, stacks, tuning

    match document.name:
        case "advice":
            return advice.advice_lines(document.fields, page)
        case "bench":
            return bench.bench_lines(document.fields, page)
        case "bench.compared":
            return bench.compared_lines(document.fields, page)
        case "plan":
            return plan.plan_lines(document.fields, page)
        case "preflight":
            return plan.check_lines(document.fields.get("checks"), page)[1:]
        case "images":
            return images.images_lines(document.fields, page)
        case "image.built":
            return images.built_lines(document.fields)
        case "images.mirrored":
            return images.mirrored_lines(document.fields)
        case "image.pushed":
            return images.pushed_lines(document.fields)
        case "orphans":
            return stacks.orphans_lines(document.fields, page)
        case "stacks":
            return stacks.stacks_lines(document.fields, page)
        case "tuned":
            return tuning.tuned_lines(document.fields, page)
        case "status":
            return stacks.status_lines(document.fields, page)
        case "sandbox.status":
            return stacks.tree_lines(document.fields, page)
        case _:
            raise ValueError(f"no view for the document {document.name!r}")
