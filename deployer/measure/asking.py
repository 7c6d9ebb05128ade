"""One measured request to an OpenAI-compatible llama-server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deployer.access.event_stream import chunks, engine_words, json_object
from deployer.access.pinning import context_for
from deployer.errors import NotHealthyError, RefusedError
from deployer.measure.numbers import Answer

if TYPE_CHECKING:
    import httpx

#: Seconds without a byte: a long prompt is read in silence, but the server pings a stream every few seconds.
_SILENCE_SECONDS = 300.0
_CONNECT_SECONDS = 10.0


class CannotMeasure(Exception):
    """The engine refuses this request only (its context is too small); others may still be measured."""


@dataclass
class Asker:
    """base_url: with its /v1. api_key None: the server wants none. certificate: PEM, None for the usual authorities.

    time: monotonic seconds. Used by several threads at once; `close` ends it.
    """

    base_url: str
    api_key: str | None = field(repr=False)
    time: Callable[[], float]
    certificate: str | None = None

    def __post_init__(self) -> None:
        import httpx

        headers = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        self._client = httpx.Client(
            trust_env=False,
            verify=context_for(self.certificate),
            headers=headers,
            timeout=httpx.Timeout(_SILENCE_SECONDS, connect=_CONNECT_SECONDS),
            limits=httpx.Limits(max_connections=None),
        )

    def close(self) -> None:
        """End every connection, also those in use."""
        self._client.close()

    def models(self) -> list[str]:
        """Names of the models that are served. Raises NotHealthyError or RefusedError as `ask` does."""
        import httpx

        try:
            reply = self._client.get(f"{self.base_url}/models", timeout=_CONNECT_SECONDS)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._broken(error) from error
        if reply.status_code != 200:
            raise self._refusal(reply.status_code, reply.text)
        listed = json_object(reply.text).get("data")
        return [str(entry["id"]) for entry in listed if "id" in entry] if isinstance(listed, list) else []

    def count_tokens(self, text: str) -> int | None:
        """How many tokens the engine makes of it; None from a server that does not tell."""
        import httpx

        try:
            reply = self._client.post(f"{self.base_url.removesuffix('/v1')}/tokenize", json={"content": text})
        except httpx.HTTPError:
            return None
        tokens = json_object(reply.text).get("tokens") if reply.status_code == 200 else None
        return len(tokens) if isinstance(tokens, list) else None

    def ask(self, model: str, prompt: str, max_tokens: int) -> Answer:
        """Ask once, always for the same number of tokens, and never from the cache.

        Raises CannotMeasure when this request is too large, RefusedError when any would be refused, NotHealthyError
        when the server does not answer.
        """
        import httpx

        body = {
            "model": model,
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": max_tokens,
            "temperature": 0,
            "seed": 1,
            "stream": True,
            "stream_options": {"include_usage": True},
            "ignore_eos": True,
            "cache_prompt": False,
        }
        began = self.time()
        try:
            with self._client.stream("POST", f"{self.base_url}/chat/completions", json=body) as reply:
                if reply.status_code != 200:
                    reply.read()
                    raise self._refusal(reply.status_code, reply.text)
                return self._measured(reply, began)
        except httpx.HTTPError as error:
            raise self._broken(error) from error

    def _measured(self, reply: httpx.Response, began: float) -> Answer:
        first: float | None = None
        pieces = 0
        timings: Mapping[str, Any] = {}
        usage: Mapping[str, Any] = {}
        for chunk in chunks(reply.iter_lines(), lambda text: self._refusal(500, text), self._cut_off):
            if any(_says_something(choice) for choice in chunk.get("choices") or ()):
                first = first or self.time()
                pieces += 1
            timings = chunk.get("timings") or timings
            usage = chunk.get("usage") or usage
        ended = self.time()
        if first is None:
            raise NotHealthyError("the engine answered without one token", where=self.base_url)
        tokens = int(timings.get("predicted_n") or usage.get("completion_tokens") or pieces)
        here = (tokens - 1) / (ended - first) if tokens > 1 and ended > first else None
        return Answer(
            first_token_seconds=first - began,
            tokens=tokens,
            per_second=timings.get("predicted_per_second") or here,
            prompt_tokens=timings.get("prompt_n") or usage.get("prompt_tokens"),
            prompt_per_second=timings.get("prompt_per_second"),
            drafts=timings.get("draft_n"),
            accepted=timings.get("draft_n_accepted"),
        )

    def _cut_off(self) -> NotHealthyError:
        return NotHealthyError("the answer was cut off", where=self.base_url, hint=_LOOK)

    def _broken(self, error: Exception) -> NotHealthyError:
        text = str(error) or type(error).__name__
        return NotHealthyError(f"the endpoint does not answer: {text}", where=self.base_url, hint=_LOOK)

    def _refusal(self, status: int, text: str) -> Exception:
        words = engine_words(status, text)
        match status:
            case 401 | 403:
                hint = "the key of a URL is read from OPENAI_API_KEY, or from the variable that --key-env names"
                return RefusedError(f"the endpoint does not take the API key: {words}", where=self.base_url, hint=hint)
            case 404:
                hint = "an OpenAI base URL usually ends with /v1"
                return RefusedError(
                    f"the endpoint knows no such path or model: {words}", where=self.base_url, hint=hint
                )
            case 503:
                return NotHealthyError(f"the engine is not ready: {words}", where=self.base_url, hint=_LOOK)
            case _ if status < 500 or "context" in words:
                return CannotMeasure(words)
            case _:
                return NotHealthyError(f"the engine failed: {words}", where=self.base_url, hint=_LOOK)


_LOOK = "of a stack, `deployer status` and `deployer logs` say more"


def _says_something(choice: Mapping[str, Any]) -> bool:
    delta = choice.get("delta") or {}
    return bool(delta.get("content") or delta.get("reasoning_content") or delta.get("tool_calls"))
