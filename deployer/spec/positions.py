"""The spec as a tree of values that know where they were written. Lines and columns count from 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

Value = str | int | float | bool | None
Path = tuple[str | int, ...]

OVERRIDE = "--set"


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the spec file, or in the `--set` values when `origin` is OVERRIDE."""

    line: int
    column: int
    origin: str = ""


@dataclass(frozen=True, slots=True)
class ScalarNode:
    """One value. `text` is what was written (after interpolation), `value` what YAML 1.2 makes of it.

    plain: written without quotes. surprise: why another YAML reader would read it differently, else None.
    interpolated: the text came from the environment, so it is not YAML that another tool could misread.
    """

    at: Position
    text: str
    value: Value
    plain: bool
    surprise: str | None = None
    interpolated: bool = False


@dataclass(frozen=True, slots=True)
class ListNode:
    """A sequence."""

    at: Position
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One `key: value`. `at` is where the key stands; `surprise` as in ScalarNode, for the key."""

    key: str
    at: Position
    value: Node
    surprise: str | None = None


@dataclass(frozen=True, slots=True)
class MapNode:
    """A mapping; keys are unique (duplicates were reported and dropped)."""

    at: Position
    entries: tuple[Entry, ...]

    def entry(self, key: str) -> Entry | None:
        """The entry written under `key`."""
        return next((entry for entry in self.entries if entry.key == key), None)


Node = ScalarNode | ListNode | MapNode


def plain_data(node: Node) -> object:
    """The bare values: dicts, lists and scalars."""
    match node:
        case ScalarNode():
            return node.value
        case ListNode():
            return [plain_data(item) for item in node.items]
        case MapNode():
            return {entry.key: plain_data(entry.value) for entry in node.entries}


def scalars(node: Node, path: Path = ()) -> Iterator[tuple[Path, ScalarNode]]:
    """Every scalar with its path, in the order written."""
    match node:
        case ScalarNode():
            yield path, node
        case ListNode():
            for index, item in enumerate(node.items):
                yield from scalars(item, (*path, index))
        case MapNode():
            for entry in node.entries:
                yield from scalars(entry.value, (*path, entry.key))


def map_scalars(node: Node, change: Callable[[Path, ScalarNode], ScalarNode], path: Path = ()) -> Node:
    """The same tree with every scalar passed through `change`."""
    match node:
        case ScalarNode():
            return change(path, node)
        case ListNode():
            return replace(node, items=tuple(map_scalars(n, change, (*path, i)) for i, n in enumerate(node.items)))
        case MapNode():
            return replace(
                node,
                entries=tuple(replace(e, value=map_scalars(e.value, change, (*path, e.key))) for e in node.entries),
            )


def child(node: Node, step: str | int) -> Node | None:
    """The node one step down, None when there is none."""
    match node, step:
        case MapNode(), str():
            entry = node.entry(step)
            return entry.value if entry else None
        case ListNode(), int() if 0 <= step < len(node.items):
            return node.items[step]
        case _:
            return None


def node_at(root: Node, path: Path) -> Node | None:
    """The node at `path`, None when nothing is written there."""
    found: Node | None = root
    for step in path:
        if found is None:
            return None
        found = child(found, step)
    return found


def value_position(root: Node, path: Path) -> Position:
    """Where the value at `path` stands; when nothing is written there, where its closest written parent's key is."""
    node: Node = root
    key_at = root.at
    for step in path:
        below = child(node, step)
        if below is None:
            return key_at
        entry = node.entry(step) if isinstance(node, MapNode) and isinstance(step, str) else None
        key_at = entry.at if entry else below.at
        node = below
    return node.at


def key_position(root: Node, path: Path) -> Position:
    """Where the last key of `path` stands (for a list item: the item; for the root: its first key)."""
    node = node_at(root, path[:-1])
    if path and isinstance(node, MapNode) and isinstance(path[-1], str):
        entry = node.entry(path[-1])
        if entry is not None:
            return entry.at
    return value_position(root, path)
