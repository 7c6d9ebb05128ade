"""Product code cannot know that a rehearsal is going on.

Precisely, outside `deployer/rehearsal` and the two commands that run it: no import of it or of what it is built from,
no identifier, attribute, keyword or environment variable with its name, and no string with its name that code could
branch on. Text for people (a sentence with spaces, a command to type) may name the command.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.guards.source import PACKAGE, docstrings_of, imports_of, name_of, product_files, tree_of

_WORDS = re.compile(r"rehears|sandbox|moto(?!r)", re.IGNORECASE)

#: Where strings may be the rehearsal's vocabulary: the command table, and views of the events it emits.
_VOCABULARY = {"deployer/cli/app.py": "table of commands", "deployer/views/": "names of events to show"}

#: Constants that hold a sentence recommending a rehearsal.
_SENTENCES = {"REHEARSE_HINT"}

_FOREIGN = ("deployer.rehearsal", "moto", "xllamacpp", "gguf", "numpy")


def _identifiers(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.arg(arg=name) | ast.keyword(arg=str(name)):
                yield node.lineno, name
            case _:
                pass


def _is_for_people(text: str) -> bool:
    return " " in text.strip()


@pytest.mark.parametrize("path", product_files(), ids=name_of)
def test_product_code_does_not_know_the_rehearsal(path) -> None:
    name, tree = name_of(path), tree_of(path)
    foreign = {m for m in imports_of(path) if any(m == f or m.startswith(f + ".") for f in _FOREIGN)}
    assert foreign == set()
    if any(name.startswith(prefix) for prefix in _VOCABULARY):
        return
    assert [
        f"{line}: {word}" for line, word in _identifiers(tree) if _WORDS.search(word) and word not in _SENTENCES
    ] == []
    documentation = docstrings_of(tree)
    strings = [
        f"{node.lineno}: {node.value!r}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in documentation
        and _WORDS.search(node.value)
        and not _is_for_people(node.value)
    ]
    assert strings == []


def test_no_environment_variable_is_the_rehearsals_own() -> None:
    """Not even in comments or documentation: nothing may be read from such a variable."""
    pattern = re.compile(r"[A-Z_]*(REHEARS|SANDBOX)[A-Z_]*")
    found = [
        f"{name_of(path)}: {match.group()}"
        for path in product_files()
        for match in pattern.finditer(path.read_text(encoding="utf-8"))
        if match.group() not in ("REHEARSE_HINT", "_REHEARSAL")
    ]
    assert found == []


def test_the_guard_looks_at_the_whole_product() -> None:
    looked_at = {name_of(path).split("/")[1] for path in product_files()}
    assert {
        "aws",
        "access",
        "agent",
        "decide",
        "engine",
        "health",
        "reconcile",
        "render",
        "spec",
        "targets",
    } <= looked_at
    assert len(product_files()) < len(list(PACKAGE.rglob("*.py")))
