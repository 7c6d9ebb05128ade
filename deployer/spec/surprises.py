"""Plain values that other YAML readers would read differently, judged by what the field can be."""

from __future__ import annotations

from dataclasses import replace

from deployer.spec.discriminators import Shape
from deployer.spec.findings import Findings
from deployer.spec.positions import Entry, MapNode, Node, Path, ScalarNode, map_scalars, scalars
from deployer.spec.scalars import is_bool_word
from deployer.spec.shape import Model, key_alternatives
from deployer.spec.wording import expected_at


def refuse_surprises(root: MapNode, data: object, model: Model, findings: Findings) -> None:
    """Report surprising values, except words the field itself knows (`mtp: on`)."""
    for path, node in scalars(root):
        if node.surprise is None or findings.seen(path):
            continue
        expected = expected_at(path, node, data, model)
        if any(node.text in leaf.words for leaf in expected):
            continue
        kinds = {leaf.origin for leaf in expected}
        if str in kinds or (kinds & {int, float} and not is_bool_word(node.text)):
            findings.add(path, node.at, node.surprise)
    for path, entry in _entries(root):
        if entry.surprise and key_alternatives(model, path[:-1], data):
            findings.add(path, entry.at, entry.surprise)


def _entries(node: Node, path: Path = ()) -> list[tuple[Path, Entry]]:
    if not isinstance(node, MapNode):
        return []
    here = [((*path, entry.key), entry) for entry in node.entries]
    return here + [found for inner, entry in here for found in _entries(entry.value, inner)]


def settle_interpolated(root: MapNode, shape: Shape) -> Node:
    """Values that came whole from the environment, as text where the field is text: NAME=123 is a fine name."""
    data = shape.data(root)

    def settle(path: Path, node: ScalarNode) -> ScalarNode:
        if not node.interpolated or isinstance(node.value, str):
            return node
        kinds = {leaf.origin for leaf in expected_at(path, node, data, shape.model)}
        return replace(node, value=node.text) if str in kinds and type(node.value) not in kinds else node

    return map_scalars(root, settle)
