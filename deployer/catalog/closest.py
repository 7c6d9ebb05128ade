"""Did you mean: the nearest known name, as the end of a message."""

from __future__ import annotations

from collections.abc import Iterable

from deployer.spec.suggest import closest


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` — did you mean "X"?`, or an empty string when nothing is near."""
    near = closest(name, known)
    return f' — did you mean "{near}"?' if near else ""
