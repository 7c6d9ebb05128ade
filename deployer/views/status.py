"""StackStatus as the documents of `ls --json` and `status --json`."""

from __future__ import annotations

from collections.abc import Iterable

from deployer.events import Json
from deployer.targets.base import StackStatus, spent_document


def summary(status: StackStatus, now: float) -> dict[str, Json]:
    """One stack in `ls`. now: seconds since the epoch; age and time left are in seconds, null when unknown."""
    return {
        "stack": status.stack,
        "target": status.target,
        "region": status.region,
        "phase": status.phase,
        "instance_type": status.instance_type,
        "model": status.model,
        "created_at": status.created_at,
        "expires_at": status.expires_at,
        "age_seconds": None if status.created_at is None else round(now - status.created_at, 1),
        "left_seconds": None if status.expires_at is None else round(status.expires_at - now, 1),
        "idle_seconds": status.idle_seconds,
        "spent": spent_document(status.spent),
        "idle_left_seconds": None if status.idle_ends_at is None else round(status.idle_ends_at - now, 1),
    }


def listing(stacks: Iterable[StackStatus], notes: Iterable[str], now: float) -> dict[str, Json]:
    """The document of `ls --json`: {"stacks": [...], "notes": [...]}."""
    return {"stacks": [summary(status, now) for status in stacks], "notes": list(notes)}


def status_document(status: StackStatus, now: float) -> dict[str, Json]:
    """The document of `status --json`: what `ls` shows of the stack, and `details`."""
    return {**summary(status, now), "details": dict(status.details)}
