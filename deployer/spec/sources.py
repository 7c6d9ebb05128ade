"""Paths in a spec made absolute: `~` is the operator's home, relative ones count from the spec's own folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from deployer.spec.models import Ec2Stack, LocalStack

_FILE = "file://"


def absolute_path(text: str, folder: Path, environ: Mapping[str, str]) -> Path:
    """`~`, `~/x`, `x` and `/x` as an absolute path, without touching the file system."""
    if text == "~" or text.startswith("~/"):
        text = (environ.get("HOME") or str(Path.home())) + text[1:]
    # Not resolve(): symbolic links stay as the person wrote them.
    return Path(os.path.normpath(Path.cwd() / folder / text))


def with_absolute_paths(spec: Ec2Stack | LocalStack, file: str, environ: Mapping[str, str]) -> Ec2Stack | LocalStack:
    """The same stack with `model.source` (file://) and `access.key` absolute."""
    folder = Path(file).parent
    source = spec.model.source
    if source and source.startswith(_FILE):
        path = absolute_path(source.removeprefix(_FILE), folder, environ)
        spec = spec.model_copy(update={"model": spec.model.model_copy(update={"source": f"{_FILE}{path}"})})
    if isinstance(spec, Ec2Stack) and spec.access.key:
        key = str(absolute_path(spec.access.key, folder, environ))
        spec = spec.model_copy(update={"access": spec.access.model_copy(update={"key": key})})
    return spec
