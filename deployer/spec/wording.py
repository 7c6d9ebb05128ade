"""Pydantic's errors as located mistakes in our own words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from deployer.spec.findings import Findings, quoted_list, show
from deployer.spec.models import SHORTHANDS, Ec2Stack, LocalStack
from deployer.spec.positions import (
    ListNode,
    MapNode,
    Node,
    Path,
    ScalarNode,
    child,
    key_position,
    node_at,
    value_position,
)
from deployer.spec.scalars import resolve
from deployer.spec.shape import Leaf, Model, alternatives_at, find_key, key_alternatives, model_for
from deployer.spec.suggest import closest

_RANGE_ERRORS = {"greater_than_equal", "greater_than", "less_than_equal", "less_than"}
_TRUE_WORDS = {"yes", "on", "y", "true", "enabled"}
_FALSE_WORDS = {"no", "off", "n", "false", "disabled", "none"}
_TYPE_WORDS: dict[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a mapping (lines of key: value)",
}
_OTHER_TARGET: dict[Model, tuple[Model, str]] = {Ec2Stack: (LocalStack, "local"), LocalStack: (Ec2Stack, "ec2")}


def report(error: ValidationError, root: MapNode, data: object, model: Model, findings: Findings) -> None:
    """Put every mistake of `error` into `findings`, leaving out paths that have one already."""
    wrong: dict[Path, list[Any]] = {}
    missing: list[Path] = []
    claimed: set[Path] = set()
    for item in error.errors(include_url=False, include_input=False):
        path = _written_path(item["loc"], root, model, data, missing=item["type"] == "missing")
        if item["type"] == "extra_forbidden":
            message, meant = _unknown_key(path, data, model)
            claimed.add((*path[:-1], meant))
            findings.add(path, key_position(root, path), message)
        elif item["type"] == "missing":
            missing.append(path)
        elif item["loc"][-1] == "[key]":
            _wrong_key(path, root, data, model, findings)
        else:
            wrong.setdefault(path, []).append(item)
    for path in missing:
        # A misspelt key is one mistake, not two.
        if path not in claimed and not findings.seen(path):
            findings.add(path, value_position(root, path), "is required")
    for path, items in wrong.items():
        deeper = any(other[: len(path)] == path and other != path for other in wrong)
        if not findings.seen(path) and not deeper:
            node = node_at(root, path)
            assert node is not None
            findings.add(path, value_position(root, path), _wrong_value(path, items, node, data, model))


def _written_path(loc: tuple[int | str, ...], root: Node, model: Model, data: object, *, missing: bool) -> Path:
    """The part of Pydantic's location that stands in the file: union tags and shorthand keys dropped."""
    path: Path = ()
    node = root
    tag_follows = False
    for index, step in enumerate(loc):
        if tag_follows:
            tag_follows = False
            continue
        below = child(node, step)
        if below is not None:
            path, node = (*path, step), below
            tag_follows = sum(leaf.model is not None for leaf in alternatives_at(model, path, data)) > 1
        elif missing and index == len(loc) - 1:
            path = (*path, step)
    return path


def _unknown_key(path: Path, data: object, model: Model) -> tuple[str, str]:
    """The message, and the key that was probably meant ("" when nobody knows)."""
    key = str(path[-1])
    here = _inner(data, path[:-1])
    alternatives = alternatives_at(model, path[:-1], data)
    owner = model_for(alternatives, here)
    assert owner is not None
    homes = [leaf.model for leaf in alternatives if leaf.model and key in leaf.model.model_fields]
    if homes:
        return f"only with expose: {quoted_list([_expose(home) for home in homes])}", key
    other, target = _OTHER_TARGET[model]
    there = alternatives_at(other, path[:-1], data)
    if any(leaf.model and key in leaf.model.model_fields for leaf in there):
        return f"only for target: {target}", key
    absent = [name for name in owner.model_fields if not isinstance(here, Mapping) or name not in here]
    near = closest(key, absent) or closest(key, owner.model_fields)
    if near:
        return f'unknown key — did you mean "{near}"?', near
    elsewhere = find_key(model, key)
    if elsewhere and elsewhere != path:
        return f'unknown key — did you mean "{".".join(str(step) for step in elsewhere)}"?', ""
    return f"unknown key — known here: {', '.join(owner.model_fields)}", ""


def _expose(model: type[BaseModel]) -> str:
    return next(iter(Leaf(model.model_fields["expose"].annotation, ()).words))


def _inner(data: object, path: Path) -> object:
    for step in path:
        match data:
            case dict():
                data = data.get(step)
            case list() if isinstance(step, int) and step < len(data):
                data = data[step]
            case _:
                return None
    return data


def _wrong_key(path: Path, root: Node, data: object, model: Model, findings: Findings) -> None:
    if not findings.seen(path):
        words = [leaf.form.words for leaf in key_alternatives(model, path[:-1], data) if leaf.form]
        findings.add(path, key_position(root, path), f"expected {quoted_list(words)}")


def describe(node: Node) -> str:
    """What was written, short: `"abc"`, `12`, `nothing`, `a list`, `a mapping`."""
    match node:
        case ListNode():
            return "a list"
        case MapNode():
            return "a mapping"
        case ScalarNode(value=None):
            return "nothing"
        case ScalarNode(value=str()):
            return f'"{show(node.text)}"'
        case ScalarNode():
            return show(node.text)


def expected_at(path: Path, node: Node, data: object, model: Model) -> list[Leaf]:
    """What the value at `path` may be; a scalar in a shorthand's place may be what the one key may be."""
    alternatives = alternatives_at(model, path, data)
    shorthand = SHORTHANDS.get(path)
    if shorthand and isinstance(node, ScalarNode):
        inner = model_for(alternatives, None)
        return alternatives_at(inner, (shorthand,), None) if inner else []
    return alternatives


def _wrong_value(path: Path, items: list[Any], node: Node, data: object, model: Model) -> str:
    alternatives = expected_at(path, node, data, model)
    by_type = {item["type"]: item for item in items}
    for kind, message in _SPECIFIC.items():
        if kind in by_type:
            return message(by_type[kind].get("ctx", {}), node)
    if by_type.keys() & _RANGE_ERRORS:
        return _out_of_range(alternatives, node)
    return _expected(alternatives, node)


_SPECIFIC: dict[str, Callable[[Any, Node], str]] = {
    "value_error": lambda ctx, _: str(ctx["error"]),
    "string_too_short": lambda ctx, _: "must not be empty",
    "string_too_long": lambda ctx, node: f"must be at most {ctx['max_length']} characters long, got {_length(node)}",
    "too_short": lambda ctx, _: "needs at least one entry",
    "too_long": lambda ctx, node: f"must have at most {ctx['max_length']} entries, got {_length(node)}",
    "finite_number": lambda ctx, _: "must be a finite number",
}


def _length(node: Node) -> int:
    match node:
        case ScalarNode():
            return len(node.text)
        case ListNode():
            return len(node.items)
        case MapNode():
            return len(node.entries)


def _out_of_range(alternatives: Iterable[Leaf], node: Node) -> str:
    for leaf in alternatives:
        low, high, below = leaf.bound("ge", "gt"), leaf.bound("le"), leaf.bound("lt")
        if low is None:
            continue
        top = f"and {_number(high)}" if high is not None else f"and {_number(below)} ({_number(below)} not included)"
        return f"must be between {_number(low)} {top}, got {describe(node)}"
    return f"is out of range: {describe(node)}"


def _number(value: int | float | None) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _expected(alternatives: list[Leaf], node: Node) -> str:
    words = [word for leaf in alternatives for word in leaf.words]
    kinds = [_kind(leaf) for leaf in alternatives if not leaf.words and leaf.type is not type(None)]
    got = describe(node)
    near = _near(words, alternatives, node)
    if isinstance(node, ScalarNode) and not near and _needs_quotes(alternatives, node):
        return f'expected text, got {got} — quote it: "{show(node.text)}"'
    hint = f' — did you mean "{near}"?' if near else _form_hint(alternatives, node)
    if not kinds and len(words) > 1:
        return f"must be one of {', '.join(words)}, got {got}{hint}"
    if not kinds and words:
        return f'must be "{words[0]}", got {got}{hint}'
    wanted = quoted_list([*dict.fromkeys(kinds), *(f'"{word}"' for word in words)]) if kinds else "something else"
    return f"expected {wanted}, got {got}{hint}"


def _kind(leaf: Leaf) -> str:
    if leaf.form:
        return leaf.form.words
    return _TYPE_WORDS[dict if leaf.model else leaf.origin]


def _near(words: list[str], alternatives: Iterable[Leaf], node: Node) -> str | None:
    if not isinstance(node, ScalarNode):
        return None
    text = node.text.lower()
    if any(leaf.type is bool for leaf in alternatives):
        return "true" if text in _TRUE_WORDS else "false" if text in _FALSE_WORDS else None
    if text in _TRUE_WORDS and "on" in words:
        return "on"
    if text in _FALSE_WORDS and "off" in words:
        return "off"
    return closest(node.text, words)


def _form_hint(alternatives: list[Leaf], node: Node) -> str:
    if not isinstance(node, ScalarNode) or node.value is None:
        return ""
    if not node.plain and type(resolve(node.text)[0]) in {leaf.type for leaf in alternatives} - {str, type(None)}:
        return " — write it without quotes"
    if not any(leaf.origin is list for leaf in alternatives):
        return ""
    if len(alternatives) > 1 and node.text.isalpha():
        return ""  # a misspelt word more likely than a list of one
    return f" — write [{show(node.text)}]"


def _needs_quotes(alternatives: Iterable[Leaf], node: ScalarNode) -> bool:
    if not node.plain or node.value is None or isinstance(node.value, str):
        return False
    return any(_fits_quoted(leaf, node.text) for leaf in alternatives)


def _fits_quoted(leaf: Leaf, text: str) -> bool:
    if leaf.type is not str:
        return False
    return bool(re.search(leaf.pattern, text)) if leaf.pattern else leaf.form is None
