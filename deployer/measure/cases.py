"""What is asked of an endpoint: the cases of one benchmark, as data. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from deployer.catalog import source

#: Characters of one token where nobody can count: English prose in the Qwen vocabulary has about four.
_CHARACTERS_PER_TOKEN = 4
Kind = Literal["text", "concurrent", "prompt"]


@dataclass(frozen=True)
class Wishes:
    """What a person asked for. runs: repetitions of each case. max_tokens: generated in each answer."""

    runs: int = 5
    max_tokens: int = 128
    concurrency: tuple[int, ...] = (1, 2, 4, 8)
    prompt_tokens: tuple[int, ...] = (128, 512, 2048)


@dataclass(frozen=True)
class Case:
    """One row of the result. kind: `text` one stream per language, `concurrent` several at once, `prompt` a length.

    prompts: one for each request of a round; the round is made `runs` times.
    """

    kind: Kind
    name: str
    prompts: tuple[str, ...]
    max_tokens: int
    prompt_tokens: int | None = None

    @property
    def concurrency(self) -> int:
        """Requests at the same time."""
        return len(self.prompts)


def cases(wishes: Wishes) -> list[Case]:
    """All cases, quickest first: what a person sees early says whether the rest is worth the wait."""
    texts: dict[str, str] = source.document("prompts")["prompts"]
    alone = [Case("text", language, (prompt,), wishes.max_tokens) for language, prompt in texts.items()]
    mixed = list(texts.values())
    together = [
        Case("concurrent", f"{n} at once", tuple(mixed[i % len(mixed)] for i in range(n)), wishes.max_tokens)
        for n in wishes.concurrency
    ]
    long = [
        # The answer is of no interest here, and two tokens end it soon after the first.
        Case("prompt", f"{n} tokens", (long_prompt(n),), 2, n)
        for n in wishes.prompt_tokens
    ]
    return [*alone, *together, *long]


def long_prompt(tokens: int, characters_per_token: float = _CHARACTERS_PER_TOKEN) -> str:
    """Text of about so many tokens: the filler sentences in a row, numbered so that no two are alike."""
    filler: Sequence[str] = source.document("prompts")["filler"]
    wanted = max(int(tokens * characters_per_token), 1)
    text, number = "", 0
    while len(text) < wanted:
        text += f"{number}. {filler[number % len(filler)]}\n"
        number += 1
    return text[:wanted]
