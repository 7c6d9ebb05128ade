"""The synthetic model's tokens and the fixed walk through them that it talks along. Pure values, no numpy.

The model is a first-order Markov chain: each token has exactly one successor, so its words must all differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

#: Values of tokenizer.ggml.token_type.
NORMAL, CONTROL, USER_DEFINED, UNUSED = 1, 3, 4, 5

ANSWER_WORDS = 96
#: Rows are padded to a multiple of this, as real vocabularies are.
ROW_MULTIPLE = 64

_REASONING = "No thought is needed: I only rehearse."
_ANSWER = (
    "This answer comes from a synthetic Qwen3.6-architecture model, run by real llama.cpp to rehearse your stack; "
    "its words are always the same."
)

CHAT_TEMPLATE = (
    "{%- for message in messages -%}"
    "{{- '<|im_start|>' + message.role + '\\n' -}}"
    "{%- if message.role == 'assistant' -%}"
    "{{- '<think>\\n' + (message.reasoning_content or '') + '\\n</think>\\n\\n' -}}"
    "{%- endif -%}"
    "{{- message.content + '<|im_end|>\\n' -}}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}"
    "{{- '<|im_start|>assistant\\n<think>\\n' -}}"
    "{%- if enable_thinking is defined and enable_thinking is false -%}"
    "{{- '\\n</think>\\n\\n' -}}"
    "{%- endif -%}"
    "{%- endif -%}"
)


@dataclass(frozen=True)
class Vocabulary:
    """texts and types are parallel. successor: token -> the one after it. answer: the answer's tokens in order.

    real: how many of the tokens are not padding. merges: the two byte-pair merges the tokenizer must not lack.
    """

    texts: tuple[str, ...]
    types: tuple[int, ...]
    successor: Mapping[int, int]
    answer: tuple[int, ...]
    real: int
    merges: tuple[str, ...]
    end_of_text: int
    end_of_turn: int


def byte_symbols() -> tuple[str, ...]:
    """GPT-2's symbol for each byte value: itself when printable, else the next free code point from 256 on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    spare = iter(range(0x100, 0x200))
    return tuple(chr(value if value in printable else next(spare)) for value in range(256))


def answer_texts() -> tuple[str, ...]:
    """ANSWER_WORDS different words: a sentence that says what this is, then numbered ones."""
    sentence = [f" {word}" for word in _ANSWER.split()]
    return tuple(sentence + [f" word{i}" for i in range(len(sentence), ANSWER_WORDS)])


def build(*, endless: bool, padding_rows: int) -> Vocabulary:
    """Lay out the vocabulary. padding_rows: unused tokens to add beside those that round the count up."""
    symbols = byte_symbols()
    texts: list[str] = list(symbols)
    types = [NORMAL] * len(texts)

    def add(text: str, kind: int) -> int:
        texts.append(text)
        types.append(kind)
        return len(texts) - 1

    newline = ord("\n")
    add("he", NORMAL)
    blank_line = add(symbols[newline] * 2, NORMAL)
    end_of_text = add("<|endoftext|>", CONTROL)
    add("<|im_start|>", CONTROL)
    end_of_turn = add("<|im_end|>", CONTROL)
    think = add("<think>", USER_DEFINED)
    think_end = add("</think>", USER_DEFINED)
    reasoning = [add(f" {word}", USER_DEFINED) for word in _REASONING.split()]
    answer = [add(text, USER_DEFINED) for text in answer_texts()]
    real = len(texts)
    rows = real + padding_rows
    for index in range(rows + -rows % ROW_MULTIPLE - real):
        add(f"[unused{index}]", UNUSED)

    # Whatever else a prompt ends in falls into the answer, each byte at its own place.
    successor = {token: answer[token % len(answer)] for token in range(real)}
    for start in (newline, think):
        successor[start] = reasoning[0]
    walk = [*reasoning, think_end, blank_line, *answer, answer[0] if endless else end_of_turn]
    successor |= dict(pairwise(walk))
    successor[end_of_turn] = end_of_text
    return Vocabulary(
        texts=tuple(texts),
        types=tuple(types),
        successor=successor,
        answer=tuple(answer),
        real=real,
        merges=("h e", f"{symbols[newline]} {symbols[newline]}"),
        end_of_text=end_of_text,
        end_of_turn=end_of_turn,
    )
