"""The result of a benchmark as a document that can be kept, read again and compared. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deployer.errors import UsageError
from deployer.measure.numbers import Numbers, Spread

#: Raised when a field changes its meaning; a reader refuses what it does not know.
VERSION = 1
_SPREADS = ("first_token_seconds", "per_stream", "together", "prompt_per_second")


@dataclass(frozen=True)
class Row:
    """One case. numbers None: it could not be measured, and skipped says why."""

    kind: str
    name: str
    concurrency: int
    numbers: Numbers | None
    skipped: str | None = None


@dataclass(frozen=True)
class Predicted:
    """What the catalogue expects of one stream. evidence: how that is known."""

    per_second: float
    low: float
    high: float
    evidence: str


@dataclass(frozen=True)
class Result:
    """subject: the stack's name or the URL. at: when it began, UTC, ISO 8601. ended: why not everything was
    measured, `interrupted` or the endpoint's trouble; None when everything was."""

    subject: str
    model: str
    at: str
    runs: int
    max_tokens: int
    rows: tuple[Row, ...]
    predicted: Predicted | None = None
    ended: str | None = None

    @property
    def complete(self) -> bool:
        """Nothing was cut off."""
        return self.ended is None

    @property
    def single(self) -> Row | None:
        """The row to hold against a prediction: one stream."""
        one = [row for row in self.rows if row.kind == "concurrent" and row.concurrency == 1]
        return next(iter([*one, *(row for row in self.rows if row.kind == "text")]), None)

    def verdict(self) -> str | None:
        """`inside`, `above` or `below` the predicted band; None without a prediction or a measurement."""
        row = self.single
        if self.predicted is None or row is None or row.numbers is None or row.numbers.per_stream is None:
            return None
        speed = row.numbers.per_stream.median
        return "below" if speed < self.predicted.low else "above" if speed > self.predicted.high else "inside"

    def document(self) -> dict[str, Any]:
        """JSON values; `of` reads them again."""
        return {
            "version": VERSION,
            "subject": self.subject,
            "model": self.model,
            "at": self.at,
            "runs": self.runs,
            "max_tokens": self.max_tokens,
            "ended": self.ended,
            "predicted": vars(self.predicted) if self.predicted else None,
            "verdict": self.verdict(),
            "rows": [{**vars(row), "numbers": row.numbers.document() if row.numbers else None} for row in self.rows],
        }

    @staticmethod
    def of(document: Mapping[str, Any]) -> Result:
        """Raises KeyError, TypeError or ValueError on anything that `document` does not write."""
        if document["version"] != VERSION:
            raise ValueError(f"version {document['version']} is not {VERSION}")
        predicted = document["predicted"]
        return Result(
            document["subject"],
            document["model"],
            document["at"],
            document["runs"],
            document["max_tokens"],
            tuple(_row(row) for row in document["rows"]),
            Predicted(**predicted) if predicted else None,
            document["ended"],
        )


def _row(document: Mapping[str, Any]) -> Row:
    numbers = document["numbers"]
    if numbers is not None:
        spreads = {name: Spread(**numbers[name]) if numbers[name] else None for name in _SPREADS}
        numbers = Numbers(**{**numbers, **spreads})
    return Row(document["kind"], document["name"], document["concurrency"], numbers, document["skipped"])


def parse(text: str, where: str) -> Result:
    """A result that `--save FILE` wrote. Raises UsageError naming the file when it is none."""
    try:
        return Result.of(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"not a result of `deployer bench`: {error}", where=where, hint="deployer bench --save FILE.json writes one"
        ) from None
