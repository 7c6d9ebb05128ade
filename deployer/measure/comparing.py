"""Two results side by side. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from deployer.measure.numbers import Spread
from deployer.measure.result import Result, Row


@dataclass(frozen=True)
class Difference:
    """One number of one case in both results, None where one has none.

    apart: the middle halves of the two samples do not touch, so the change is more than their noise.
    """

    case: str
    what: str
    before: float | None
    after: float | None
    apart: bool

    @property
    def change(self) -> float | None:
        """Fraction by which `after` is more than `before`."""
        if self.before is None or self.after is None or self.before == 0:
            return None
        return self.after / self.before - 1


_WHATS = {
    "text": ("per_stream",),
    "concurrent": ("together", "first_token_seconds"),
    "prompt": ("first_token_seconds", "prompt_per_second"),
}
LABELS = {
    "per_stream": "tok/s",
    "together": "tok/s together",
    "first_token_seconds": "first token s",
    "prompt_per_second": "prompt tok/s",
}


def unlike(before: Result, after: Result) -> list[str]:
    """What makes the two hard to compare: other settings, another model, a measurement that was cut off."""
    found = [
        f"{label}: {getattr(before, name)} and {getattr(after, name)}"
        for name, label in (("model", "models"), ("max_tokens", "tokens of an answer"))
        if getattr(before, name) != getattr(after, name)
    ]
    return found + [f"{one.subject} was not measured to its end" for one in (before, after) if not one.complete]


def differences(before: Result, after: Result) -> list[Difference]:
    """Every case of either, in the order of the first; acceptance where either made drafts."""
    known = {(row.kind, row.name): row for row in after.rows}
    own = {(row.kind, row.name) for row in before.rows}
    pairs: list[tuple[Row, Row | None, Row | None]] = [
        (row, row, known.get((row.kind, row.name))) for row in before.rows
    ]
    pairs += [(row, None, row) for row in after.rows if (row.kind, row.name) not in own]
    found = []
    for row, old, new in pairs:
        for what in _WHATS.get(row.kind, ()):
            found.append(_difference(row.name, LABELS[what], _spread(old, what), _spread(new, what)))
        if row.kind == "text" and (_acceptance(old) is not None or _acceptance(new) is not None):
            found.append(Difference(row.name, "accepted drafts", _acceptance(old), _acceptance(new), apart=False))
    return found


def _difference(case: str, what: str, old: Spread | None, new: Spread | None) -> Difference:
    apart = (
        old is not None
        and new is not None
        and (old.upper_quarter < new.lower_quarter or new.upper_quarter < old.lower_quarter)
    )
    return Difference(case, what, old.median if old else None, new.median if new else None, apart)


def _spread(row: Row | None, what: str) -> Spread | None:
    found = getattr(row.numbers, what) if row is not None and row.numbers is not None else None
    return found if isinstance(found, Spread) else None


def _acceptance(row: Row | None) -> float | None:
    return row.numbers.acceptance if row is not None and row.numbers is not None else None
