"""Partition names live in one data file: nowhere else a literal that only fits one partition."""

from __future__ import annotations

import ast
import re

from tests.guards.source import PACKAGE, ROOT, name_of, package_files, tree_of

_LITERAL = re.compile(r"arn:aws:|amazonaws\.com")
_ALLOWED = {"deployer/catalog/data/partitions.json"}
_TEXT = {".py", ".json", ".j2", ".yaml", ".yml", ".md", ".txt", ".toml"}


def test_no_string_in_the_source_names_a_partition() -> None:
    found = [
        f"{name_of(path)}:{node.lineno}"
        for path in package_files()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and _LITERAL.search(str(node.value))
    ]
    assert found == []


def test_no_text_at_all_names_a_partition() -> None:
    found = [
        name_of(path)
        for folder in (PACKAGE, ROOT / "templates")
        for path in sorted(folder.rglob("*"))
        if path.suffix in _TEXT and name_of(path) not in _ALLOWED and _LITERAL.search(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_the_partition_file_is_where_they_are() -> None:
    assert _LITERAL.search((ROOT / next(iter(_ALLOWED))).read_text(encoding="utf-8"))
