"""Did you mean: the nearest known name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` — did you mean "X"?`, or an empty string when nothing is near."""
    by_fold = {candidate.casefold(): candidate for candidate in known}
    near = difflib.get_close_matches(name.casefold(), by_fold, n=1, cutoff=0.5)
    return f' — did you mean "{by_fold[near[0]]}"?' if near else ""
