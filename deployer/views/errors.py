"""An error on stderr: what and why, where, what next; or one JSON object."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TextIO

from deployer.errors import BootstrapError, DeployerError, SpecError


def show(error: DeployerError, stream: TextIO, *, as_json: bool, environ: Mapping[str, str]) -> None:
    """Write the error for a person, or its stable JSON form."""
    if as_json:
        stream.write(json.dumps(error.as_dict(), ensure_ascii=False) + "\n")
        return
    colour = stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    stream.write("\n".join(text_lines(error, colour=colour)) + "\n")


def text_lines(error: DeployerError, *, colour: bool = False) -> list[str]:
    """The lines a person reads."""
    label = "\x1b[1;31merror:\x1b[0m" if colour else "error:"
    lines = []
    match error:
        case SpecError():
            lines += [str(d) for d in error.diagnostics]
            lines.append(f"{label} {_count(error)}; nothing was sent to AWS")
        case BootstrapError():
            lines.append(f"{label} {error.message} [{error.failure_code}]")
            lines += _where(error)
            lines += [f"    | {line}" for line in error.log]
        case _:
            lines.append(f"{label} {error.message}")
            lines += _where(error)
    if error.hint:
        first, *rest = error.hint.splitlines()
        lines.append(f"  hint:  {first}")
        lines += [f"         {line}" for line in rest]
    return lines


def _where(error: DeployerError) -> list[str]:
    return [f"  where: {error.where}"] if error.where else []


def _count(error: SpecError) -> str:
    files = sorted({d.file for d in error.diagnostics})
    count = len(error.diagnostics)
    return f"{count} mistake{'s' if count > 1 else ''} in {', '.join(files)}"
