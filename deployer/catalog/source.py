"""Reading the catalogue's data files. Each is JSON with `source` and `date` at the top."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any


@cache
def document(name: str) -> dict[str, Any]:
    """The parsed data file `name` (without `.json`). Callers must not change it."""
    text = resources.files("deployer.catalog.data").joinpath(f"{name}.json").read_text(encoding="utf-8")
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def cite(name: str) -> str:
    """How a Decision names this file as its source."""
    return f"catalog/{name}.json ({document(name)['date']})"
