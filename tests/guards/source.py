"""The product's own source as the guards read it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "deployer"

#: The only product files that may know of the rehearsal.
REHEARSAL_COMMANDS = frozenset(
    {"deployer/cli/rehearse.py", "deployer/cli/sandbox.py", "deployer/cli/sandbox_rootfs.py"}
)


def name_of(path: Path) -> str:
    """The path as it reads from the repository's root."""
    return path.relative_to(ROOT).as_posix()


@cache
def product_files() -> tuple[Path, ...]:
    """Every Python file of the package but the rehearsal and its commands."""
    return tuple(
        path
        for path in package_files()
        if not name_of(path).startswith("deployer/rehearsal/") and name_of(path) not in REHEARSAL_COMMANDS
    )


@cache
def package_files() -> tuple[Path, ...]:
    """Every Python file of the package."""
    return tuple(sorted(PACKAGE.rglob("*.py")))


@cache
def tree_of(path: Path) -> ast.Module:
    """The file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=name_of(path))


def imports_of(path: Path) -> set[str]:
    """Absolute names of every imported module, relative ones resolved."""
    package = list(path.relative_to(ROOT).with_suffix("").parts[:-1])
    found: set[str] = set()
    for node in ast.walk(tree_of(path)):
        match node:
            case ast.Import(names=names):
                found |= {alias.name for alias in names}
            case ast.ImportFrom(module=module, names=names, level=level):
                base = (
                    ".".join([*package[: len(package) - level + 1], *([module] if module else [])]) if level else module
                )
                assert base is not None
                found |= {base, *(f"{base}.{alias.name}" for alias in names)}
            case _:
                pass
    return found


def docstrings_of(tree: ast.Module) -> set[int]:
    """The ids of the string nodes that are docstrings."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                found.add(id(first.value))
    return found
