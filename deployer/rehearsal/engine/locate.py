"""Which llama-server a process machine gets: a real one when there is one, else ours; and the script that starts it."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SERVER_VARIABLE = "DEPLOYER_LLAMA_SERVER"


@dataclass(frozen=True)
class EngineCommand:
    """argv: the program and its first arguments. real: an installed llama-server rather than the xllamacpp wheel."""

    argv: tuple[str, ...]
    real: bool


def find_engine(environ: Mapping[str, str]) -> EngineCommand:
    """$DEPLOYER_LLAMA_SERVER, then `llama-server` on PATH, then `deployer-llama-server` of this Python."""
    named = environ.get(SERVER_VARIABLE)
    found = named or shutil.which("llama-server", path=environ.get("PATH"))
    if found:
        return EngineCommand((str(Path(found).absolute()),), real=True)
    # Isolated from PYTHONPATH: the machine sets that for its agent.
    return EngineCommand((sys.executable, "-I", "-m", "deployer.rehearsal.engine.command"), real=False)


def wrapper_script(engine: EngineCommand, *, threads: int, marks: Mapping[str, str]) -> str:
    """A shell script to install as `llama-server`.

    threads: what llama.cpp is to compute with, whatever -t says; the last of two -t counts. marks: environment
    variables the engine process must carry, since its parent may start it with a clean environment.
    """
    exports = [f"{name}={shlex.quote(value)}" for name, value in marks.items()]
    clamp = f"--threads {threads} --threads-batch {threads}"
    return "\n".join(
        [
            "#!/bin/sh",
            *(f"export {export}" for export in exports),
            f'exec {shlex.join(engine.argv)} "$@" {clamp}',
            "",
        ]
    )
