"""A talk with the engine: every answer is streamed, and what was said before goes along."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from deployer.access.event_stream import chunks, engine_words
from deployer.access.pinning import context_for
from deployer.errors import NotHealthyError, RefusedError

#: Seconds without a byte: a long prompt is read in silence, but the server pings a stream every few seconds.
SILENCE_SECONDS = 300.0
_CONNECT_SECONDS = 10.0


@dataclass(frozen=True)
class Piece:
    """A part of an answer as it comes. kind: `thought` is what a reasoning model thinks before it answers."""

    kind: Literal["thought", "text"]
    text: str


@dataclass(frozen=True)
class Measure:
    """What the engine measured. tokens: generated ones. draft_n is None when no drafts were made (MTP off)."""

    tokens: int | None = None
    per_second: float | None = None
    prompt_tokens: int | None = None
    draft_n: int | None = None
    draft_n_accepted: int | None = None


@dataclass
class Conversation:
    """base_url: asked at every question, with its /v1. certificate: PEM of the server, None over plain HTTP.

    max_tokens None leaves the length to the model. `measure` is of the latest whole answer.
    """

    base_url: Callable[[], str]
    api_key: str = field(repr=False)
    model: str
    certificate: str | None = None
    max_tokens: int | None = None
    messages: list[dict[str, str]] = field(default_factory=list)
    measure: Measure | None = None

    def ask(self, question: str) -> Generator[Piece, None, None]:
        """Stream the answer. One that is cut short by the caller or by an error stays in the history as far as it came.

        Raises RefusedError when the server refuses the question, NotHealthyError when it cannot answer.
        """
        self.messages.append({"role": "user", "content": question})
        self.measure = None
        said: list[str] = []
        try:
            for piece in self._stream():
                if piece.kind == "text":
                    said.append(piece.text)
                yield piece
        finally:
            if said:
                self.messages.append({"role": "assistant", "content": "".join(said)})
            else:
                # Two questions in a row are refused by some chat templates.
                self.messages.pop()

    def _stream(self) -> Iterator[Piece]:
        import httpx

        body: dict[str, Any] = {"model": self.model, "messages": list(self.messages), "stream": True}
        if self.max_tokens is not None:
            body["max_tokens"] = self.max_tokens
        timeout = httpx.Timeout(SILENCE_SECONDS, connect=_CONNECT_SECONDS)
        headers = {"Authorization": f"Bearer {self.api_key}"}
        url = self.base_url() + "/chat/completions"
        try:
            with (
                httpx.Client(trust_env=False, verify=context_for(self.certificate), headers=headers) as client,
                client.stream("POST", url, json=body, timeout=timeout) as answer,
            ):
                if answer.status_code != 200:
                    answer.read()
                    raise _refusal(answer.status_code, answer.text)
                yield from self._pieces(answer.iter_lines())
        except httpx.TimeoutException as error:
            raise NotHealthyError(f"no word from the engine: {_text(error)}", where=url, hint=_STATUS) from error
        except httpx.HTTPError as error:
            raise NotHealthyError(f"the connection broke: {_text(error)}", where=url, hint=_STATUS) from error

    def _pieces(self, lines: Iterable[str]) -> Iterator[Piece]:
        for chunk in chunks(lines, lambda text: _refusal(500, text), _cut_off):
            for choice in chunk.get("choices") or ():
                delta = choice.get("delta") or {}
                if thought := delta.get("reasoning_content"):
                    yield Piece("thought", str(thought))
                if text := delta.get("content"):
                    yield Piece("text", str(text))
            if timings := chunk.get("timings"):
                self.measure = _measure(timings)


_STATUS = "`deployer status` shows what the stack says now"


def _measure(timings: dict[str, Any]) -> Measure:
    return Measure(
        tokens=timings.get("predicted_n"),
        per_second=timings.get("predicted_per_second"),
        prompt_tokens=timings.get("prompt_n"),
        draft_n=timings.get("draft_n"),
        draft_n_accepted=timings.get("draft_n_accepted"),
    )


def _cut_off() -> NotHealthyError:
    return NotHealthyError("the answer was cut off", hint=_STATUS)


def _refusal(status: int, text: str) -> NotHealthyError | RefusedError:
    """The engine's own words (`error.message`), as the error that fits the status."""
    words = engine_words(status, text)
    match status:
        case 401 | 403:
            hint = "the engine still has an older key: `deployer key rotate` gives both a new one"
            return RefusedError(f"the engine does not take the stack's API key: {words}", hint=hint)
        case 503:
            return NotHealthyError(f"the engine is not ready: {words}", hint=_STATUS)
        case _ if status < 500:
            return RefusedError(f"the engine refuses the question: {words}")
        case _:
            return NotHealthyError(f"the engine failed: {words}", hint=_STATUS)


def _text(error: Exception) -> str:
    return str(error) or type(error).__name__
