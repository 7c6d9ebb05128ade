"""A small client of llama-server's HTTP API. It answers with values, never with transport exceptions.

Proxies of the environment are not used: the endpoint is this machine's loopback or a private address.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deployer.access.pinning import context_for
from deployer.events import Json

if TYPE_CHECKING:
    import httpx

#: llama-server's counter of generated tokens, in Prometheus' text format.
_GENERATED = re.compile(r"^llamacpp:tokens_predicted_total ([0-9.e+]+)$", re.MULTILINE)
#: Seconds for one look; a busy llama-server answers /health at once.
LOOK_SECONDS = 5.0


@dataclass(frozen=True)
class Answered:
    """HTTP 200 and a JSON object."""

    body: Mapping[str, Json]


@dataclass(frozen=True)
class Refused:
    """Nobody listens, or the connection ended without one byte (a tunnel whose far port is closed)."""

    text: str


@dataclass(frozen=True)
class Loading:
    """503: llama-server says this on every path while it loads the model."""

    text: str


@dataclass(frozen=True)
class Unauthorized:
    """401 or 403: the API key is not the server's."""

    text: str


@dataclass(frozen=True)
class TimedOut:
    """No answer in time."""

    text: str


@dataclass(frozen=True)
class Odd:
    """Any other answer. status 0: not HTTP at all."""

    status: int
    text: str


Reply = Answered | Refused | Loading | Unauthorized | TimedOut | Odd


class EngineClient:
    """base_url: asked at every call, since a tunnel may move; with or without a trailing `/v1`.

    certificate: PEM of the server over https, and of no other; None over plain HTTP. A function is asked at the first
    call, for a certificate that is not known before.
    """

    def __init__(
        self,
        base_url: Callable[[], str],
        api_key: str,
        *,
        certificate: str | Callable[[], str | None] | None = None,
    ) -> None:
        self._base_url = base_url
        self._api_key = api_key
        self._certificate = certificate
        self._http: httpx.Client | None = None

    def health(self) -> Reply:
        """GET /health."""
        return self._call("GET", "/health")

    def models(self) -> Reply:
        """GET /v1/models."""
        return self._call("GET", "/v1/models")

    def props(self) -> Reply:
        """GET /props."""
        return self._call("GET", "/props")

    def generated_tokens(self) -> int | None:
        """Tokens generated since the engine started, from GET /metrics; None when it does not tell."""
        import httpx

        try:
            answer = self._client().get(
                self._base_url().rstrip("/").removesuffix("/v1") + "/metrics", timeout=LOOK_SECONDS
            )
        except httpx.HTTPError:
            return None
        found = _GENERATED.search(answer.text) if answer.status_code == 200 else None
        return int(float(found.group(1))) if found else None

    def complete(self, model: str, prompt: str, *, max_tokens: int, timeout: float) -> Reply:
        """POST /v1/chat/completions, not streamed. timeout: seconds without a byte of the answer."""
        request: dict[str, Json] = {
            "model": model,
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": max_tokens,
            "stream": False,
        }
        return self._call("POST", "/v1/chat/completions", request, timeout)

    def close(self) -> None:
        """Close kept connections; the client stays usable."""
        if self._http is not None:
            self._http.close()
            self._http = None

    def _call(self, method: str, path: str, body: Json = None, timeout: float = LOOK_SECONDS) -> Reply:
        import httpx

        url = self._base_url().rstrip("/").removesuffix("/v1") + path
        try:
            answer = self._client().request(method, url, json=body, timeout=timeout)
        except httpx.TimeoutException:
            return TimedOut(f"{path} gave no answer within {timeout:g} s")
        except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
            return Refused(f"{path}: {str(error) or type(error).__name__}")
        except httpx.HTTPError as error:
            return Odd(0, f"{path}: {error}")
        return _reply(path, answer)

    def _client(self) -> httpx.Client:
        import httpx

        if self._http is None:
            self._http = httpx.Client(
                trust_env=False,
                verify=context_for(self._certificate() if callable(self._certificate) else self._certificate),
                headers={"Authorization": f"Bearer {self._api_key}"},
                # A connection kept over a restart of the engine would look like a refusal.
                limits=httpx.Limits(max_keepalive_connections=0),
            )
        return self._http


def _reply(path: str, answer: httpx.Response) -> Reply:
    text = f"{path} answered {answer.status_code}: {_message(answer)}"
    match answer.status_code:
        case 200:
            body = _json(answer)
            return Answered(body) if body is not None else Odd(200, f"{path} answered 200 without a JSON object")
        case 503:
            return Loading(text)
        case 401 | 403:
            return Unauthorized(text)
        case status:
            return Odd(status, text)


def _json(answer: httpx.Response) -> Mapping[str, Json] | None:
    try:
        body = json.loads(answer.content)
    except ValueError:
        return None
    return body if isinstance(body, dict) else None


def _message(answer: httpx.Response) -> str:
    """llama-server's own words (`error.message`), or the start of whatever came."""
    body = _json(answer) or {}
    error = body.get("error")
    message = error.get("message") if isinstance(error, dict) else None
    return str(message) if message else answer.text.strip()[:200] or answer.reason_phrase
