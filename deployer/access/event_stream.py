"""A streamed chat completion as it comes over HTTP: server-sent events, `data: {...}` lines, the last one `[DONE]`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any


def chunks(
    lines: Iterable[str], failed: Callable[[str], Exception], cut_off: Callable[[], Exception]
) -> Iterator[dict[str, Any]]:
    """The chunks until the end is said.

    Raises what `failed` makes of the engine's own error, and what `cut_off` makes when the end is never said.
    """
    for line in lines:
        if line.startswith("error:"):
            raise failed(line.removeprefix("error:"))
        data = line.removeprefix("data:").strip()
        if not line.startswith("data:") or not data:
            continue
        if data == "[DONE]":
            return
        chunk = json_object(data)
        if "error" in chunk:
            raise failed(data)
        yield chunk
    raise cut_off()


def engine_words(status: int, text: str) -> str:
    """The engine's own words (`error.message`), else the start of whatever came with that status."""
    inner = json_object(text).get("error")
    return str(inner.get("message")) if isinstance(inner, dict) else text.strip()[:200] or f"HTTP {status}"


def json_object(text: str) -> dict[str, Any]:
    """The object, empty for anything else."""
    try:
        body = json.loads(text)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
