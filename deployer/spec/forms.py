"""Shapes of text: the words a person reads when a value does not have the shape."""

from __future__ import annotations

from dataclasses import dataclass

INSTANCE_TYPE = r"^[a-z][a-z0-9-]*\.[a-z0-9-]+$"
SSH_USER = r"[a-z_][a-z0-9_-]{0,31}"


@dataclass(frozen=True)
class Form:
    """Metadata of an Annotated type. words: completes "expected …", with an example."""

    words: str
