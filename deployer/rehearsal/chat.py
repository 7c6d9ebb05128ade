"""One chat completion, as any OpenAI client would ask for it."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from deployer.rehearsal.product import StepFailed

_TIMEOUT_SECONDS = 60.0
_PROMPT = "Say one word."
_MAX_TOKENS = 48


@dataclass(frozen=True)
class Answer:
    """draft_n and draft_n_accepted are None when the engine made no drafts at all."""

    text: str
    draft_n: int | None
    draft_n_accepted: int | None
    predicted_per_second: float | None


def ask(base_url: str, model: str, api_key: str) -> Answer:
    """POST base_url/chat/completions. Raises StepFailed (exit code 6) when no answer comes."""
    status, body = _post(base_url, model, api_key)
    if status != 200:
        raise StepFailed(f"the completion was answered with {status}", exit_code=6, where=base_url)
    timings = body.get("timings") or {}
    message = body["choices"][0]["message"]
    text = str(message.get("content") or message.get("reasoning_content") or "")
    return Answer(text, timings.get("draft_n"), timings.get("draft_n_accepted"), timings.get("predicted_per_second"))


def is_refused_without_key(base_url: str, model: str) -> bool:
    """Is a completion without the right key answered with 401?"""
    return _post(base_url, model, "not-the-key")[0] == 401


def _post(base_url: str, model: str, api_key: str) -> tuple[int, dict[str, Any]]:
    question = {
        "model": model,
        "messages": [{"role": "user", "content": _PROMPT}],
        "max_tokens": _MAX_TOKENS,
        "temperature": 0,
    }
    request = urllib.request.Request(  # noqa: S310 — the URL is the tunnel's own
        f"{base_url}/chat/completions",
        data=json.dumps(question).encode(),
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {api_key}"},
    )
    # No proxies: the tunnel ends on this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=_TIMEOUT_SECONDS) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, {}
    except OSError as error:
        raise StepFailed(f"the tunnel did not answer: {error}", exit_code=6, where=base_url) from error
