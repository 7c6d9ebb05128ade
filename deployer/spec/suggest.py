"""Did you mean: the closest known word to a misspelt one."""

from __future__ import annotations

from collections.abc import Iterable


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word within a few typing mistakes of `word`, None when none is close.

    One mistake is a letter too many, missing, wrong, or two swapped; case, `-` and `_` do not count.
    Allowed are one mistake for three letters, at least one, so `on` is never turned into `off`.
    """
    if len(word) > 64:
        return None
    best: tuple[int, str] | None = None
    for candidate in known:
        distance = _distance(_fold(word), _fold(candidate))
        allowed = max(1, (len(candidate) + 1) // 3) if len(candidate) > 2 else 0
        if distance <= allowed and (best is None or distance < best[0]):
            best = (distance, candidate)
    return best[1] if best else None


def _fold(word: str) -> str:
    return word.casefold().replace("-", "_").strip()


def _distance(a: str, b: str) -> int:
    """Optimal string alignment distance."""
    before: list[int] = []
    above = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            best = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                best = min(best, before[j - 2] + 1)
            row.append(best)
        before, above = above, row
    return above[-1]
