"""Values from `--set` and DEPLOYER_SET, laid over the tree of the spec before it is checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from deployer.errors import SpecError
from deployer.spec.document import read_document
from deployer.spec.findings import Findings
from deployer.spec.interpolate import InterpolationError, interpolate
from deployer.spec.models import SHORTHANDS, Ec2Stack, LocalStack
from deployer.spec.positions import OVERRIDE, Entry, ListNode, MapNode, Node, Path, Position, ScalarNode

_AT = Position(1, 1, OVERRIDE)
_SECTIONS = {"ec2": Ec2Stack.model_fields.keys(), "local": LocalStack.model_fields.keys()}


def apply_overrides(
    root: MapNode, overrides: Mapping[str, str], environ: Mapping[str, str], findings: Findings
) -> MapNode:
    """The tree with every override laid over it, in the order given.

    A section that this spec's target does not have, but another target has, is skipped: one DEPLOYER_SET serves
    stacks of every target. Everything else is checked like text of the file.
    """
    target = _target(root, overrides, environ)
    for key, text in overrides.items():
        path: Path = tuple(key.split("."))
        section = str(path[0])
        if target and section not in _SECTIONS[target] and any(section in keys for keys in _SECTIONS.values()):
            continue
        if "" in path:
            findings.add(path, _AT, "is no dotted key; write for example engine.context=16384")
            continue
        value = _value(text, path, findings)
        if value is not None:
            root = _with(root, path, value, (), findings)
    return root


def _target(root: MapNode, overrides: Mapping[str, str], environ: Mapping[str, str]) -> str | None:
    entry = root.entry("target")
    written = entry.value.text if entry and isinstance(entry.value, ScalarNode) else ""
    try:
        target = interpolate(overrides.get("target", written), environ)
    except InterpolationError:
        return None
    return target if target in _SECTIONS else None


def _value(text: str, path: Path, findings: Findings) -> Node | None:
    if not text:
        return ScalarNode(_AT, "", None, plain=True)
    inner = Findings(OVERRIDE)
    try:
        node = _moved(read_document(text, inner, OVERRIDE))
        inner.raise_if_any()
    except SpecError as error:
        findings.add(path, _AT, f"the value cannot be read: {error.diagnostics[0].message}")
        return None
    return node


def _moved(node: Node) -> Node:
    """The same node, standing in the override instead of a file."""
    match node:
        case ScalarNode():
            return replace(node, at=_AT)
        case ListNode():
            return ListNode(_AT, tuple(_moved(item) for item in node.items))
        case MapNode():
            return MapNode(_AT, tuple(replace(e, at=_AT, value=_moved(e.value)) for e in node.entries))


def _with(node: MapNode, path: Path, value: Node, above: Path, findings: Findings) -> MapNode:
    key, rest = str(path[0]), path[1:]
    old = node.entry(key)
    if rest:
        below = old.value if old else MapNode(_AT, ())
        shorthand = SHORTHANDS.get((*above, key))
        if isinstance(below, ScalarNode) and shorthand:
            below = MapNode(below.at, (Entry(shorthand, below.at, below),))
        if isinstance(below, ScalarNode) and below.value is None:
            below = MapNode(_AT, ())
        if not isinstance(below, MapNode):
            parent = ".".join(str(step) for step in (*above, key))
            message = f"{parent} is no mapping; set it as a whole: {parent}=…"
            findings.add((*above, *path), _AT, message)
            return node
        value = _with(below, rest, value, (*above, key), findings)
    entry = Entry(key, old.at if old and rest else _AT, value)
    if old:
        return replace(node, entries=tuple(entry if e.key == key else e for e in node.entries))
    return replace(node, entries=(*node.entries, entry))
