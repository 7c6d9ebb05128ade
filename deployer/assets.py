"""Where the files lie that come with the product: inside the installed package, or beside it in a checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

_PACKAGE = Path(__file__).parent


def folder(name: Literal["templates", "stacks"]) -> Path:
    """The folder of templates or of ready stacks."""
    installed = _PACKAGE / "_assets" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name
