"""From the text of a spec to a validated StackSpec, or to every mistake in it at once, each with its place."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from deployer.errors import SpecError
from deployer.settings import Settings
from deployer.spec.discriminators import choose_shape
from deployer.spec.document import STARTER_HINT, read_document
from deployer.spec.findings import Findings, single
from deployer.spec.interpolate import expand
from deployer.spec.models import Ec2Stack, LocalStack
from deployer.spec.overrides import apply_overrides
from deployer.spec.positions import MapNode, Node, Position, ScalarNode, value_position
from deployer.spec.rules import check_rules, check_secrets
from deployer.spec.sources import with_absolute_paths
from deployer.spec.surprises import refuse_surprises, settle_interpolated
from deployer.spec.text import read_text
from deployer.spec.wording import describe, report


@dataclass(frozen=True)
class LoadedSpec:
    """A valid spec. digest: 16 hex digits, the same for the same meaning whatever the formatting or the machine.

    file: as the caller named it. Paths inside `spec` are absolute.
    """

    spec: Ec2Stack | LocalStack
    digest: str
    file: str
    tree: Node = field(repr=False, compare=False)

    def locate(self, *path: str | int) -> tuple[int, int]:
        """Line and column of the value at `path`; of its closest written parent's key when it is left out."""
        at = value_position(self.tree, path)
        return at.line, at.column

    def error(self, path: tuple[str | int, ...], message: str, hint: str | None = None) -> SpecError:
        """A SpecError that points at `path`, for checks that need more than the spec itself."""
        return single(self.file, value_position(self.tree, path), message, hint=hint, path=path)


def load_spec(path: Path, settings: Settings) -> LoadedSpec:
    """Read and validate a spec file. Raises SpecError with every mistake found."""
    return parse_spec(read_text(path), str(path), environ=settings.environ, overrides=settings.overrides)


def parse_spec(
    text: str, file: str, *, environ: Mapping[str, str], overrides: Mapping[str, str] | None = None
) -> LoadedSpec:
    """Validate the text of a spec; `file` names it in messages and its folder anchors relative paths.

    environ: for `${env:NAME}` and `~`. overrides: dotted key -> YAML text, laid over the spec before it is checked.
    Raises SpecError with every mistake found.
    """
    findings = Findings(file)
    root = _mapping(read_document(text, findings, file), file)
    root = apply_overrides(root, overrides or {}, environ, findings)
    root = _mapping(expand(root, environ, findings), file)
    check_secrets(root, findings)
    shape = choose_shape(root, findings)
    root = _mapping(settle_interpolated(root, shape), file)
    data = shape.data(root)
    refuse_surprises(root, data, shape.model, findings)
    try:
        spec = shape.model.model_validate(data)
    except ValidationError as error:
        spec = None
        report(error, root, data, shape.model, findings)
    check_rules(root, data, shape.model, findings)
    findings.raise_if_any()
    assert isinstance(spec, Ec2Stack | LocalStack)
    return LoadedSpec(with_absolute_paths(spec, file, environ), digest(spec), file, root)


def _mapping(node: Node, file: str) -> MapNode:
    if isinstance(node, MapNode):
        return node
    at = Position(node.at.line, node.at.column)
    if isinstance(node, ScalarNode) and node.value is None:
        raise single(file, at, "the file is empty", hint=STARTER_HINT)
    raise single(file, at, f"expected a mapping (lines of key: value), got {describe(node)}")


def digest(spec: Ec2Stack | LocalStack) -> str:
    """16 hex digits of the canonical JSON of every value, defaults included."""
    values = spec.model_dump(mode="json")
    canonical = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]
