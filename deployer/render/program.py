"""The agent's two texts, kept ready beside the code and made anew when the agent's sources are no longer those.

The first stage goes into user-data; the program itself, which is larger than user-data may be, into SSM parameters.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

#: The package on the instance; its one module is the first stage.
PACKAGE = "deployer_agent"
ENTRY = "__main__"
FIRST_STAGE = "first_stage"
_FOLDER = Path(__file__).parent.parent / "agent"
#: Their first line names the sources they were made from.
READY = Path(__file__).with_name("agent_program.txt")
READY_FIRST_STAGE = Path(__file__).with_name("agent_first_stage.txt")
#: Characters of one standard SSM parameter, which costs nothing.
PARAMETER_CHARACTERS = 4096
#: Hex digits of the sha256 that are in names.
_MARK_CHARACTERS = 16


@dataclass(frozen=True)
class Program:
    """What an instance fetches. sha256: of the text. parts: compressed and base85, each for one parameter, in order."""

    sha256: str
    parts: tuple[str, ...]

    @property
    def mark(self) -> str:
        """The same for the same program; another one for any other."""
        return self.sha256[:_MARK_CHARACTERS]


def part_names(path: str, one: Program) -> dict[str, str]:
    """SSM parameter name -> value, in order. path: below which a stack's programs lie."""
    return {f"{path}/{one.mark}/{number}": part for number, part in enumerate(one.parts, 1)}


@cache
def program() -> Program:
    """Today's program, ready to be stored."""
    text = agent_program().encode()
    packed = base64.b85encode(zlib.compress(text, 9)).decode()
    starts = range(0, len(packed), PARAMETER_CHARACTERS)
    parts = tuple(packed[start : start + PARAMETER_CHARACTERS] for start in starts)
    return Program(hashlib.sha256(text).hexdigest(), parts)


@cache
def agent_program() -> str:
    """The whole agent as one module. Bundling takes a quarter of a second, so the result is kept ready."""
    return _ready(READY, ENTRY)


@cache
def first_stage() -> str:
    """For `PACKAGE/__main__.py` on the instance."""
    return _ready(READY_FIRST_STAGE, FIRST_STAGE)


def _ready(path: Path, entry: str) -> str:
    mark, _, text = path.read_text(encoding="utf-8").partition("\n")
    return text if mark == digest() else make(entry)


@cache
def sources() -> dict[str, str]:
    """The agent's modules: name without `.py` -> text."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(_FOLDER.glob("*.py"))}


def digest() -> str:
    """Changes with every change of the agent."""
    return "# sha256 of the sources: " + hashlib.sha256(repr(sources()).encode()).hexdigest()


def make(entry: str = ENTRY) -> str:
    """Bundle the sources now."""
    from deployer.render.bundle import bundle

    return bundle(sources(), entry)


def write() -> tuple[Path, ...]:
    """Bundle and keep ready; the files. `python -m deployer.render.program` after a change of the agent."""
    for path, entry in ((READY, ENTRY), (READY_FIRST_STAGE, FIRST_STAGE)):
        path.write_text(f"{digest()}\n{make(entry)}", encoding="utf-8")
    return READY, READY_FIRST_STAGE


if __name__ == "__main__":
    print(*write(), sep="\n")
