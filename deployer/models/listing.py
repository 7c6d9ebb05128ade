"""What a hub's own listing says of a file: its size and sha256."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import deployer

_SECONDS = 20.0


@dataclass(frozen=True)
class Listed:
    """None for what the listing does not say."""

    size: int | None
    sha256: str | None


def look_up(url: str, path: str) -> Listed | str:
    """The entry for `path` in the listing at `url`, or a sentence that says why there is none."""
    import httpx

    headers = {"User-Agent": f"deployer/{deployer.__version__}"}
    try:
        answer = httpx.get(url, timeout=_SECONDS, follow_redirects=True, headers=headers)
        answer.raise_for_status()
        entries = _entries(json.loads(answer.content))
    except (httpx.HTTPError, ValueError) as error:
        return f"the hub's listing cannot be used: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
    for entry in entries:
        if path in (entry.get("Path"), entry.get("Name")):
            size, digest = entry.get("Size"), entry.get("Sha256")
            return Listed(size if isinstance(size, int) and size > 0 else None, str(digest).lower() if digest else None)
    return "the hub's listing does not name the file"


def _entries(document: Any) -> list[dict[str, Any]]:
    try:
        return [entry for entry in document["Data"]["Files"] if isinstance(entry, dict)]
    except (KeyError, TypeError):
        raise ValueError("it has another form than expected") from None
