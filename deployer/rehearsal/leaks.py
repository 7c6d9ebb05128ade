"""What a rehearsal left behind, and what it asked of AWS, as the sandbox saw it."""

from __future__ import annotations

from typing import Any

from deployer.rehearsal.stage import Stage


def count_calls(built: Stage) -> int:
    """How many AWS calls the product made so far."""
    calls = built.ask("calls")
    listed = calls.get("calls", calls) if isinstance(calls, dict) else calls
    return len(listed)


def find(built: Stage, *, local: bool) -> list[str]:
    """Everything that is still there: resources, machines, stacks on this machine, and tries to leave loopback."""
    left = _flatten("", built.ask("status"))
    left += [f"escape: {escape}" for escape in _flatten("", built.ask("escapes"))]
    if local:
        listed = built.product.run("ls").require().objects[-1]
        left += [f"local stack {row.get('stack')}" for row in listed.get("stacks", []) if row.get("target") == "local"]
    return left


def _flatten(prefix: str, value: Any) -> list[str]:
    """Names of whatever is in a nested JSON value; empty containers are nothing."""
    match value:
        case dict():
            return [leaf for key, inner in value.items() for leaf in _flatten(f"{prefix} {key}".strip(), inner)]
        case list():
            return [leaf for inner in value for leaf in _flatten(prefix, inner)]
        case None:
            return []
        case _:
            return [f"{prefix} {value}".strip()]
