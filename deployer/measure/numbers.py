"""From single answers to numbers a person can compare: medians and their spread. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median, quantiles


@dataclass(frozen=True)
class Answer:
    """One measured answer. first_token_seconds: since its request was sent.

    tokens and per_second: generated ones, by the engine's own timings where it tells them, else counted here.
    drafts is None where the engine makes none.
    """

    first_token_seconds: float
    tokens: int
    per_second: float | None
    prompt_tokens: int | None
    prompt_per_second: float | None
    drafts: int | None = None
    accepted: int | None = None


@dataclass(frozen=True)
class Round:
    """Answers of requests that were sent together. seconds: from the first request to the end of the last answer."""

    answers: tuple[Answer, ...]
    seconds: float


@dataclass(frozen=True)
class Spread:
    """Five numbers of a sample; with fewer than two values all five are the same."""

    low: float
    lower_quarter: float
    median: float
    upper_quarter: float
    high: float

    @staticmethod
    def of(values: Sequence[float]) -> Spread | None:
        """None of an empty sample."""
        if not values:
            return None
        if len(values) == 1:
            return Spread(values[0], values[0], values[0], values[0], values[0])
        lower, _, upper = quantiles(values, n=4, method="inclusive")
        return Spread(min(values), lower, median(values), upper, max(values))


@dataclass(frozen=True)
class Numbers:
    """What one case came to. Rates in tokens/s.

    per_stream: decoding of one stream. together: all streams' tokens over the round's wall time, prompts included.
    acceptance: accepted drafts of those made, None where none were made.
    """

    answers: int
    tokens: int
    first_token_seconds: Spread | None
    per_stream: Spread | None
    together: Spread | None
    prompt_tokens: int | None
    prompt_per_second: Spread | None
    acceptance: float | None

    def document(self) -> dict[str, object]:
        """JSON values; rates and seconds as they are, views round them."""
        return asdict(self)


def numbers_of(rounds: Sequence[Round]) -> Numbers:
    """The numbers of all rounds of one case."""
    answers = [answer for one in rounds for answer in one.answers]
    drafts = sum(answer.drafts or 0 for answer in answers)
    lengths = [answer.prompt_tokens for answer in answers if answer.prompt_tokens is not None]
    together = [sum(a.tokens for a in one.answers) / one.seconds for one in rounds if one.seconds > 0]
    return Numbers(
        answers=len(answers),
        tokens=sum(answer.tokens for answer in answers),
        first_token_seconds=Spread.of([answer.first_token_seconds for answer in answers]),
        per_stream=Spread.of([answer.per_second for answer in answers if answer.per_second is not None]),
        together=Spread.of(together),
        prompt_tokens=round(median(lengths)) if lengths else None,
        prompt_per_second=Spread.of([a.prompt_per_second for a in answers if a.prompt_per_second is not None]),
        acceptance=sum(answer.accepted or 0 for answer in answers) / drafts if drafts else None,
    )
