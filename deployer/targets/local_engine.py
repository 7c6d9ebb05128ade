"""The llama-server program of this machine."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from deployer.errors import RefusedError

#: Names the program; wins over everything on PATH.
VARIABLE = "DEPLOYER_LLAMA_SERVER"
_OURS = "deployer-llama-server"


def find_llama_server(environ: Mapping[str, str]) -> str:
    """$DEPLOYER_LLAMA_SERVER, then `llama-server` on PATH, then `deployer-llama-server` of this Python or on PATH.

    Returns an absolute path. Raises RefusedError when there is none, or when the variable names none.
    """
    path = environ.get("PATH")
    if named := environ.get(VARIABLE):
        found = shutil.which(Path(named).expanduser(), path=path)
        if found is None:
            raise RefusedError(
                f"{VARIABLE} names {named}, which is no executable file",
                where=named,
                hint=f"correct or unset {VARIABLE}",
            )
        return str(Path(found).absolute())
    beside = str(Path(sys.executable).parent)
    found = (
        shutil.which("llama-server", path=path) or shutil.which(_OURS, path=beside) or shutil.which(_OURS, path=path)
    )
    if found is None:
        raise RefusedError(
            "there is no llama-server on this machine",
            hint="install llama.cpp (for example `brew install llama.cpp`), name the program in "
            f"{VARIABLE}, or install deployer with its extra: pip install 'deployer[rehearsal]'",
        )
    return str(Path(found).absolute())
