"""The two keys that choose a shape: `target` and `endpoint.expose`.

A wrong one would hide every other mistake below it, so it is reported here and the rest is checked against the shape
that was probably meant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deployer.spec.findings import Findings
from deployer.spec.models import Ec2Stack, LocalStack
from deployer.spec.positions import MapNode, Path, ScalarNode, node_at, plain_data, value_position
from deployer.spec.shape import Model
from deployer.spec.suggest import closest
from deployer.spec.wording import describe

_TARGETS: dict[str, Model] = {"ec2": Ec2Stack, "local": LocalStack}
_EXPOSES = ("tunnel", "private", "public")


@dataclass(frozen=True)
class Shape:
    """The model to check a spec against, and the discriminators to check it with: as written, defaulted or guessed."""

    model: Model
    target: str
    expose: str | None

    def data(self, root: MapNode) -> dict[str, Any]:
        """The bare values of the tree with these discriminators in place."""
        data = plain_data(root)
        assert isinstance(data, dict)
        data["target"] = self.target
        if self.expose:
            data["endpoint"]["expose"] = self.expose
        return data


def choose_shape(root: MapNode, findings: Findings) -> Shape:
    """Read the discriminators; wrong ones go to `findings`."""
    target = _word(("target",), tuple(_TARGETS), root, findings)
    if target is None:
        if root.entry("target") is None:
            findings.add(("target",), root.at, "is required: ec2 or local")
        only_ec2 = Ec2Stack.model_fields.keys() - LocalStack.model_fields.keys()
        written = {entry.key for entry in root.entries}
        target = _guess(root, ("target",), tuple(_TARGETS)) or ("ec2" if only_ec2 & written else "local")
    endpoint = root.entry("endpoint")
    expose = None
    if target == "ec2" and endpoint and isinstance(endpoint.value, MapNode):
        expose = _expose(root, endpoint.value, findings)
    return Shape(_TARGETS[target], target, expose)


def _expose(root: MapNode, endpoint: MapNode, findings: Findings) -> str:
    path: Path = ("endpoint", "expose")
    written = {entry.key for entry in endpoint.entries}
    if "expose" in written:
        expose = _word(path, _EXPOSES, root, findings) or _guess(root, path, _EXPOSES)
        if expose:
            return expose
    else:
        without_tunnel = [key for key in ("allow", "icp_filed") if key in written]
        if not without_tunnel:
            return "tunnel"
        words = "public" if "icp_filed" in written else "private or public"
        message = f"is required with {' and '.join(without_tunnel)}: {words}"
        findings.add(path, value_position(root, path), message)
    return "public" if "icp_filed" in written else "private" if "allow" in written else "tunnel"


def _word(path: Path, words: tuple[str, ...], root: MapNode, findings: Findings) -> str | None:
    node = node_at(root, path)
    if node is None or findings.seen(path):
        return None
    if isinstance(node, ScalarNode) and node.value in words:
        return str(node.value)
    near = _guess(root, path, words)
    hint = f' — did you mean "{near}"?' if near else ""
    findings.add(path, value_position(root, path), f"must be one of {', '.join(words)}, got {describe(node)}{hint}")
    return None


def _guess(root: MapNode, path: Path, words: tuple[str, ...]) -> str | None:
    node = node_at(root, path)
    return closest(node.text, words) if isinstance(node, ScalarNode) else None
