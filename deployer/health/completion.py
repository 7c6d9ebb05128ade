"""Rung 6: one real completion with the API key. The last rung that decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from deployer.errors import NotHealthyError
from deployer.events import Emit, Event, Json
from deployer.health.another_key import another_key
from deployer.health.base import Observation
from deployer.health.client import Answered, EngineClient, Loading, Odd, Refused, TimedOut, Unauthorized

#: Enough tokens for a few drafts, little enough for a slow CPU (48 tokens at 2 tok/s are 24 s).
MAX_TOKENS = 48
_PROMPT = "Say hello in one short sentence."


@dataclass(frozen=True)
class Completion:
    """What the engine said and how fast. draft_n is None when llama-server reports no drafts at all (MTP off)."""

    text: str
    predicted_per_second: float | None
    draft_n: int | None
    draft_n_accepted: int | None


class RealCompletion:
    """Asks for a few tokens; `result` is there once it passed. request_seconds: the longest one answer may take."""

    name = "completion"
    deadline_seconds = 300.0
    decides = True

    def __init__(self, client: EngineClient, emit: Emit, *, alias: str = "", request_seconds: float = 120.0) -> None:
        self._client = client
        self._emit = emit
        self._alias = alias
        self._request_seconds = request_seconds
        self.result: Completion | None = None

    def check(self) -> Observation:
        reply = self._client.complete(self._alias, _PROMPT, max_tokens=MAX_TOKENS, timeout=self._request_seconds)
        match reply:
            case Answered(body):
                return self._read(body)
            case Loading(text) | Refused(text) | TimedOut(text):
                return Observation("waiting", text)
            case Unauthorized(text):
                return another_key(text)
            case Odd(_, text):
                return Observation("failed", text, _broken(text))

    def _read(self, body: Mapping[str, Json]) -> Observation:
        text = _text(body)
        if not text.strip():
            return Observation("failed", "the completion is empty")
        timings = body.get("timings")
        numbers = timings if isinstance(timings, dict) else {}
        self.result = Completion(
            text,
            _number(numbers.get("predicted_per_second")),
            _whole(numbers.get("draft_n")),
            _whole(numbers.get("draft_n_accepted")),
        )
        self._emit(Event("completion", dict(vars(self.result))))
        speed = self.result.predicted_per_second
        return Observation("passed", "answered" if speed is None else f"answered at {speed:.1f} tokens/s")


def _broken(text: str) -> NotHealthyError:
    return NotHealthyError(
        f"the engine is up but cannot complete: {text}",
        where="completion",
        hint="an engine that fails at its first decode is often out of memory: lower engine.context or engine.parallel",
    )


def _text(body: Mapping[str, Json]) -> str:
    """The answer; a thinking model may have spent its tokens on `reasoning_content`."""
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(message, dict):
        return ""
    return str(message.get("content") or message.get("reasoning_content") or "")


def _number(value: Json) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
