"""The agent runs on the oldest Python an instance has, with nothing installed."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import deployer.agent
from deployer.render.program import FIRST_STAGE, READY, READY_FIRST_STAGE, agent_program, digest, first_stage, make

SOURCES = sorted(Path(deployer.agent.__file__).parent.glob("*.py"))
#: Modules and functions of the standard library that Python 3.9 does not have.
TOO_NEW = {"tomllib", "zoneinfo", "pairwise", "batched", "file_digest", "StrEnum", "ExceptionGroup", "Self", "UTC"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_each_module(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 9))
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                assert all(alias.name.split(".")[0] in sys.stdlib_module_names for alias in names)
            case ast.ImportFrom(level=0, module=str(module)):
                assert module.split(".")[0] in sys.stdlib_module_names
            case ast.ImportFrom(level=level):
                assert level == 1
            case ast.Match() | ast.TryStar():
                raise AssertionError(f"line {node.lineno}: newer than Python 3.9")
            case ast.Attribute(attr=name) | ast.Name(id=name):
                assert name not in TOO_NEW
            case ast.keyword(arg="strict"):
                raise AssertionError("zip(strict=) is newer than Python 3.9")
            case _:
                pass
    # Unions in annotations are only text there.
    assert "from __future__ import annotations" in path.read_text() or "|" not in path.read_text()


@pytest.mark.parametrize("sent", [agent_program(), first_stage()], ids=["program", "first stage"])
def test_what_is_sent(sent: str) -> None:
    tree = ast.parse(sent, feature_version=(3, 9))
    assert not any(isinstance(node, ast.ImportFrom) and node.level for node in ast.walk(tree))
    assert not any(isinstance(node, ast.AnnAssign) for node in tree.body)
    # Python 3.9's NamedTuple refuses a field whose annotation is no type: `Got 0.`
    fields = [node for node in ast.walk(tree) if isinstance(node, ast.AnnAssign)]
    assert {ast.unparse(field.annotation) for field in fields} <= {"None"}
    assert sent.isascii()


def test_what_is_kept_ready_is_the_agent_of_today() -> None:
    """Otherwise: python -m deployer.render.program."""
    for path in (READY, READY_FIRST_STAGE):
        assert path.read_text().splitlines()[0] == digest()
    assert ast.dump(ast.parse(agent_program())) == ast.dump(ast.parse(make()))
    assert ast.dump(ast.parse(first_stage())) == ast.dump(ast.parse(make(FIRST_STAGE)))
