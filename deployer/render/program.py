"""The agent's program text: kept ready beside the code, made anew when the agent's sources are no longer those."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

#: The package on the instance; its one module is its __main__.
PACKAGE = "deployer_agent"
ENTRY = "__main__"
_FOLDER = Path(__file__).parent.parent / "agent"
#: Its first line names the sources it was made from.
READY = Path(__file__).with_name("agent_program.txt")


@cache
def agent_program() -> str:
    """For `PACKAGE/__main__.py` on the instance. Bundling takes a quarter of a second, so the result is kept ready."""
    mark, _, program = READY.read_text(encoding="utf-8").partition("\n")
    return program if mark == digest() else make()


def sources() -> dict[str, str]:
    """The agent's modules: name without `.py` -> text."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(_FOLDER.glob("*.py"))}


def digest() -> str:
    """Changes with every change of the agent."""
    return "# sha256 of the sources: " + hashlib.sha256(repr(sources()).encode()).hexdigest()


def make() -> str:
    """Bundle the sources now."""
    from deployer.render.bundle import bundle

    return bundle(sources(), ENTRY)


def write() -> Path:
    """Bundle and keep ready; the file. `python -m deployer.render.program` after a change of the agent."""
    READY.write_text(f"{digest()}\n{make()}", encoding="utf-8")
    return READY


if __name__ == "__main__":
    print(write())
