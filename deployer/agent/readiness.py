"""Ready means ready: loaded, the alias is listed, one real completion came back."""

from __future__ import annotations

import json
import re
import time
from typing import Any

from .config import Config
from .console import Phase
from .engine import EngineProcess
from .stop import Stop
from .text import clean
from .web import NETWORK_ERRORS, call

_POLL_SECONDS = 0.25
#: Enough tokens for a few accepted drafts, few enough for a slow CPU.
_TOKENS = 32
_TIMINGS = ("predicted_per_second", "prompt_per_second", "predicted_n", "draft_n", "draft_n_accepted")
_DEVICE = re.compile(r"using device (\w+) \(([^)]*)\)|loaded (\w+) backend")


#: How long an engine in the middle of a long prompt may take to tell its counters.
_USAGE_SECONDS = 60.0
_METRIC = re.compile(r"^llamacpp:(\w+) (\S+)$", re.MULTILINE)


class Usage:
    """totals: the engine's counters, which only grow while one process lives. busy: a request is being served."""

    def __init__(self, totals: dict[str, float], busy: bool) -> None:
        self.totals = totals
        self.busy = busy


def _of_metrics(numbers: dict[str, str]) -> Usage:
    totals = {name: float(value) for name, value in numbers.items() if name.endswith("_total")}
    return Usage(totals, float(numbers["requests_processing"]) + float(numbers.get("requests_deferred", 0)) > 0)


def _of_slots(slots: list[dict[str, Any]]) -> Usage:
    """A slot's task has a number that is new with each request."""
    totals = {"slot %s" % slot["id"]: float(slot.get("id_task", 0)) for slot in slots}
    return Usage(totals, any(slot["is_processing"] for slot in slots))


class Engine:
    """The engine's HTTP side, as a client on this machine sees it."""

    def __init__(self, config: Config, key: str, process: EngineProcess, stop: Stop) -> None:
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(config.host, config.host)  # noqa: S104
        scheme = "https" if config.tls_certificate else "http"
        self._base = "%s://%s:%d" % (scheme, "[%s]" % host if ":" in host else host, config.port)
        self._headers = {"Authorization": "Bearer " + key, "Content-Type": "application/json"}
        self._config = config
        self._process = process
        self._stop = stop

    def wait_loaded(self, phase: Phase) -> None:
        """Until /health answers 200. Refused and 503 mean loading. Raises AgentFailure, Stopped."""
        deadline = time.monotonic() + self._config.load_s
        while True:
            self._process.need_alive()
            status, seen = self._ask("/health", 5)
            if status == 200:
                # Whoever answered: was it ours?
                self._process.need_alive()
                return
            if time.monotonic() > deadline:
                text = "still loading after %d s: %s" % (self._config.load_s, seen)
                raise phase.failure("not_ready", text, self._process.log)
            phase.progress("loading (/health: %s)" % seen)
            self._stop.pause(_POLL_SECONDS)

    def wait_ready(self, phase: Phase) -> dict[str, Any]:
        """Until the alias is listed and a completion came; what it showed. Raises AgentFailure, Stopped."""
        deadline = time.monotonic() + self._config.ready_s
        while True:
            self._process.need_alive()
            seen, detail = self._look(max(1.0, deadline - time.monotonic()))
            if detail is not None:
                return detail
            self._process.need_alive()
            if time.monotonic() > deadline:
                raise phase.failure("not_ready", seen, self._process.log)
            phase.progress(seen)
            self._stop.pause(_POLL_SECONDS)

    def usage(self) -> Usage | None:
        """What /metrics tells, or /slots of an engine without it; None when the engine does not answer."""
        status, text = self._ask("/metrics", _USAGE_SECONDS)
        try:
            if status == 200:
                return _of_metrics(dict(_METRIC.findall(text)))
            status, text = self._ask("/slots", _USAGE_SECONDS) if status else (0, "")
            return _of_slots(json.loads(text)) if status == 200 else None
        except (KeyError, ValueError, TypeError):
            return None

    def _look(self, timeout: float) -> tuple[str, dict[str, Any] | None]:
        alias = self._config.alias
        status, seen = self._ask("/v1/models", 10)
        if status != 200:
            return "/v1/models: " + seen, None
        question = {
            "model": alias,
            "messages": [{"role": "user", "content": "Say hello."}],
            "max_tokens": _TOKENS,
            "stream": False,
        }
        try:
            names = [entry["id"] for entry in json.loads(seen)["data"]]
            if alias not in names:
                return "/v1/models lists %s, not %s" % (", ".join(names) or "nothing", alias), None
            status, seen = self._ask("/v1/chat/completions", timeout, json.dumps(question).encode())
            if status != 200:
                return "/v1/chat/completions: " + seen, None
            body = json.loads(seen)
            message = body["choices"][0]["message"]
            timings = body.get("timings") or {}
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            return "the answer cannot be read: %s %s" % (type(error).__name__, error), None
        if not (message.get("content") or message.get("reasoning_content")):
            return "the completion is empty", None
        detail: dict[str, Any] = {name: timings[name] for name in _TIMINGS if name in timings}
        found = _DEVICE.findall("\n".join(self._process.log))
        detail["devices"] = sorted({" ".join(filter(None, match)) for match in found})
        return "answered", detail

    def _ask(self, path: str, timeout: float, data: bytes | None = None) -> tuple[int, str]:
        """(status, body or what went wrong); status 0 without an answer."""
        try:
            trusted = self._config.tls_certificate
            status, body = call(
                self._base + path, timeout, headers=self._headers, data=data, direct=True, trusted=trusted
            )
        except NETWORK_ERRORS as error:
            return 0, clean(str(error)) or type(error).__name__
        text = body.decode("utf-8", "replace")
        return status, text if status == 200 else "HTTP %d %s" % (status, clean(text))
