"""YAML text to a tree of located nodes. ruamel.yaml scans and parses; meaning and limits are decided here.

Refused with a position: syntax errors, duplicate keys, tags, merge keys, keys that are not text, aliases to themselves,
other YAML versions, several documents, and trees too deep or (after following aliases) too large.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from ruamel.yaml.reader import ReaderError

from deployer.spec.findings import Findings, show, single
from deployer.spec.positions import Entry, ListNode, MapNode, Node, Path, Position, ScalarNode
from deployer.spec.scalars import resolve
from deployer.spec.syntax import explain
from deployer.spec.text import LineIndex

# A real spec has about 50 nodes, four deep. Aliases count with everything they stand for.
MAX_NODES = 5_000
MAX_DEPTH = 20
STARTER_HINT = "`deployer init` writes a starter spec"

# What ruamel.yaml 0.19 lets escape on text no person writes, e.g. OverflowError on "\\U99999999".
_SCANNER_ACCIDENTS = (
    YAMLError,
    ValueError,
    OverflowError,
    IndexError,
    KeyError,
    TypeError,
    AttributeError,
    AssertionError,
)


def read_document(text: str, findings: Findings, file: str) -> Node:
    """The tree of the one document in `text`. Duplicate keys go to `findings`; what stops reading raises SpecError."""
    return _Reader(text, findings, file).document()


class _Reader:
    def __init__(self, text: str, findings: Findings, file: str) -> None:
        self._text = text
        self._lines = LineIndex(text)
        self._findings = findings
        self._file = file
        self._anchors: dict[str, tuple[Node, int] | None] = {}
        self._size = 0
        self._last = 0
        self._events = self._parse()

    def document(self) -> Node:
        event = self._next()
        while not isinstance(event, DocumentStartEvent):
            if isinstance(event, StreamEndEvent):
                raise single(self._file, Position(1, 1), "the file is empty", hint=STARTER_HINT)
            event = self._next()
        if event.version not in (None, (1, 2)):
            raise single(self._file, Position(1, 1), "only YAML 1.2 is read; remove the %YAML line")
        root = self._node(self._next(), (), 0)
        for event in self._events:
            if isinstance(event, DocumentStartEvent):
                message = "a second document starts here; a spec file holds one stack"
                raise single(self._file, self._at(event), message, hint="one file for each stack")
        return root

    def _parse(self) -> Iterator[Event]:
        try:
            for event in YAML(typ="safe", pure=True).parse(self._text):
                self._last = event.end_mark.index
                yield event
        except MarkedYAMLError as error:
            offset, message = explain(error, self._text)
            raise single(self._file, self._lines.position(offset), message) from None
        except ReaderError as error:
            code = error.character if isinstance(error.character, int) else ord(error.character)
            message = f"character U+{code:04X} is not allowed in YAML"
            raise single(self._file, self._lines.position(error.position), message) from None
        except _SCANNER_ACCIDENTS:
            raise single(self._file, self._lines.position(self._last), "what follows here is not YAML") from None

    def _next(self) -> Event:
        return next(self._events)

    def _at(self, event: Event) -> Position:
        return self._lines.position(event.start_mark.index)

    def _node(self, event: Event, path: Path, depth: int) -> Node:
        at = self._at(event)
        if depth > MAX_DEPTH:
            raise single(self._file, at, f"nested deeper than {MAX_DEPTH} levels", path=path[:4])
        if isinstance(event, AliasEvent):
            return self._alias(event, at, path)
        assert isinstance(event, ScalarEvent | SequenceStartEvent | MappingStartEvent)
        if event.tag is not None:
            tag = str(event.tag).replace("tag:yaml.org,2002:", "!!")
            message = f"tags such as `{show(tag)}` are not used in a spec; write the plain value"
            raise single(self._file, at, message, path=path)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        before = self._size
        self._grow(1, at)
        node: Node
        match event:
            case SequenceStartEvent():
                node = self._list(at, path, depth)
            case MappingStartEvent():
                node = self._map(at, path, depth)
            case _:
                node = _scalar(event, at)
        if event.anchor is not None:
            self._anchors[event.anchor] = (node, self._size - before)
        return node

    def _grow(self, nodes: int, at: Position) -> None:
        self._size += nodes
        if self._size > MAX_NODES:
            raise single(self._file, at, f"more than {MAX_NODES:,} values (aliases counted); this is no stack spec")

    def _alias(self, event: AliasEvent, at: Position, path: Path) -> Node:
        name = show(str(event.anchor))
        if event.anchor not in self._anchors:
            raise single(self._file, at, f"alias `*{name}` has no anchor `&{name}` above it", path=path)
        target = self._anchors[event.anchor]
        if target is None:
            raise single(self._file, at, f"alias `*{name}` contains itself", path=path)
        node, size = target
        self._grow(size, at)
        return replace(node, at=at)

    def _list(self, at: Position, path: Path, depth: int) -> ListNode:
        items: list[Node] = []
        while not isinstance(event := self._next(), SequenceEndEvent):
            items.append(self._node(event, (*path, len(items)), depth + 1))
        return ListNode(at, tuple(items))

    def _map(self, at: Position, path: Path, depth: int) -> MapNode:
        entries: dict[str, Entry] = {}
        while not isinstance(event := self._next(), MappingEndEvent):
            key, key_at, surprise = self._key(event, path, depth)
            value = self._node(self._next(), (*path, key), depth + 1)
            if isinstance(value, ScalarNode) and value.plain and not value.text:
                # Nothing was written; ruamel.yaml places it somewhere before the next token.
                value = replace(value, at=key_at)
            first = entries.get(key)
            if first is not None:
                message = f"duplicate key — first written at {first.at.line}:{first.at.column}"
                self._findings.add((*path, key), key_at, message, covers=False)
            else:
                entries[key] = Entry(key, key_at, value, surprise)
        # A block mapping starts at its first key; an empty `{}` at its brace.
        return MapNode(at, tuple(entries.values()))

    def _key(self, event: Event, path: Path, depth: int) -> tuple[str, Position, str | None]:
        at = self._at(event)
        node = self._node(event, path, depth + 1)
        if not isinstance(node, ScalarNode):
            raise single(self._file, at, "a key must be plain text", path=path)
        if node.plain and node.text == "<<":
            message = "merge keys (`<<`) are not part of YAML 1.2; write the keys out"
            raise single(self._file, at, message, path=path)
        surprise = node.surprise
        if node.plain and surprise is None and not isinstance(node.value, str):
            surprise = f'a key must be text; quote it: "{show(node.text)}"'
        return node.text, at, surprise


def _scalar(event: NodeEvent, at: Position) -> ScalarNode:
    assert isinstance(event, ScalarEvent)
    text: str = event.value
    plain = event.style is None
    value, surprise = resolve(text) if plain else (text, None)
    return ScalarNode(at, text, value, plain, surprise)
