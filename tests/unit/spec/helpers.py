"""Small specs and what the checks say about them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from deployer.errors import SpecError
from deployer.spec.load import LoadedSpec, parse_spec

HERE = Path(__file__).parent
REPO = HERE.parents[2]
STACKS = sorted((REPO / "stacks").glob("*.yaml"))

EC2 = "name: demo\ntarget: ec2\ninstance: {type: g5.xlarge}\nmodel: {name: Qwen3.6-27B}\n"
LOCAL = "name: demo\ntarget: local\nmodel:\n  source: file://models\n  file: tiny.gguf\n"


def load(
    text: str,
    *,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, str] | None = None,
    file: str = "stacks/x.yaml",
) -> LoadedSpec:
    return parse_spec(text, file, environ={"HOME": "/home/op", **(environ or {})}, overrides=overrides)


def mistakes(
    text: str,
    *,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, str] | None = None,
    file: str = "x.yaml",
) -> list[str]:
    """The lines a person reads; empty when the spec is accepted."""
    try:
        load(text, environ=environ, overrides=overrides, file=file)
    except SpecError as error:
        return [str(diagnostic) for diagnostic in error.diagnostics]
    return []
