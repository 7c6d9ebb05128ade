"""The rooms of the house: who may import whom, how long a file may be, what the agent may need."""

from __future__ import annotations

import ast
import sys

import pytest

from tests.guards.source import PACKAGE, ROOT, imports_of, name_of, package_files, tree_of

_LONGEST = 400
_PURE = ("spec", "catalog", "engine", "decide", "render")
_EDGES = ("boto3", "botocore", "paramiko", "httpx", "requests", "urllib3")


def _room(path) -> str:
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else ""


def _imports_any(path, modules: tuple[str, ...]) -> set[str]:
    return {m for m in imports_of(path) if any(m == one or m.startswith(one + ".") for one in modules)}


@pytest.mark.parametrize("path", package_files(), ids=name_of)
def test_imports_follow_the_rooms(path) -> None:
    room = _room(path)
    if room in _PURE:
        assert _imports_any(path, _EDGES) == set()
    if room not in ("aws", "rehearsal"):
        assert _imports_any(path, ("boto3", "botocore")) == set(), "only aws/ talks to AWS"
    if room not in ("cli", "") and name_of(path) != "deployer/__main__.py":
        assert _imports_any(path, ("deployer.cli",)) == set(), "nothing imports the command line"
    if room == "views":
        results = ("deployer.measure.comparing", "deployer.measure.numbers", "deployer.measure.result")
        told = ("deployer.events", "deployer.errors", "deployer.clock", "deployer.targets.base", *results)
        allowed = ("deployer.views", "deployer.assets", *told)
        own = {m for m in imports_of(path) if m.startswith("deployer.")}
        assert {m for m in own if not any(m == a or m.startswith(a + ".") for a in allowed)} == set()


@pytest.mark.parametrize("path", sorted((PACKAGE / "agent").glob("*.py")), ids=name_of)
def test_the_agent_needs_only_python(path) -> None:
    for node in ast.walk(tree_of(path)):
        match node:
            case ast.Import(names=names):
                modules = [alias.name for alias in names]
            case ast.ImportFrom(level=0, module=str(module)):
                modules = [module]
            case _:
                continue
        assert {m.split(".")[0] for m in modules} <= set(sys.stdlib_module_names), f"line {node.lineno}"


@pytest.mark.parametrize("path", sorted((PACKAGE / "agent").glob("*.py")), ids=name_of)
def test_the_agent_is_python_3_9(path) -> None:
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
    assert not [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.Match)]


@pytest.mark.parametrize(
    "path",
    [path for folder in ("deployer", "tests", "bench") for path in sorted((ROOT / folder).rglob("*.py"))],
    ids=name_of,
)
def test_files_stay_small(path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= _LONGEST, f"{lines} lines"


def test_no_sleep_outside_the_clock() -> None:
    """Logic waits through a Clock; the agent and the rehearsal's processes are programs of their own."""
    found = [
        f"{name_of(path)}:{node.lineno}"
        for path in package_files()
        if _room(path) not in ("agent", "rehearsal") and path.name != "clock.py"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute)
        and node.attr in ("sleep", "time", "monotonic")
        and isinstance(node.value, ast.Name)
        and node.value.id == "time"
    ]
    assert found == []
