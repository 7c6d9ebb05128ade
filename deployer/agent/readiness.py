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
_UNREADABLE = (ValueError, KeyError, IndexError, TypeError, AttributeError)
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
        self._base = "%s://%s:" % (scheme, "[%s]" % host if ":" in host else host)
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
        try:
            names = [entry["id"] for entry in json.loads(seen)["data"]]
        except _UNREADABLE as error:
            return _unreadable(error), None
        if alias not in names:
            return "/v1/models lists %s, not %s" % (", ".join(names) or "nothing", alias), None
        seen, text, timings = self.complete("Say hello.", {"max_tokens": _TOKENS}, timeout)
        if not text:
            return seen, None
        detail: dict[str, Any] = {name: timings[name] for name in _TIMINGS if name in timings}
        found = _DEVICE.findall("\n".join(self._process.log))
        detail["devices"] = sorted({" ".join(filter(None, match)) for match in found})
        if self._process.choice:
            detail["tuned"] = self._process.choice
        return "answered", detail

    def complete(self, question: str, how: dict[str, Any], timeout: float) -> tuple[str, str, dict[str, Any]]:
        """(what was seen, the answer's text or nothing, the engine's timings). how: more of the request."""
        request = {
            "model": self._config.alias,
            "messages": [{"role": "user", "content": question}],
            "stream": False,
            **how,
        }
        status, seen = self._ask("/v1/chat/completions", timeout, json.dumps(request).encode())
        if status != 200:
            return "/v1/chat/completions: " + seen, "", {}
        try:
            body = json.loads(seen)
            message = body["choices"][0]["message"]
            text = (message.get("reasoning_content") or "") + (message.get("content") or "")
            return "answered" if text else "the completion is empty", text, body.get("timings") or {}
        except _UNREADABLE as error:
            return _unreadable(error), "", {}

    def _ask(self, path: str, timeout: float, data: bytes | None = None) -> tuple[int, str]:
        """(status, body or what went wrong); status 0 without an answer."""
        try:
            trusted = self._config.tls_certificate
            status, body = call(
                self._base + str(self._process.port) + path,
                timeout,
                headers=self._headers,
                data=data,
                direct=True,
                trusted=trusted,
            )
        except NETWORK_ERRORS as error:
            return 0, clean(str(error)) or type(error).__name__
        text = body.decode("utf-8", "replace")
        return status, text if status == 200 else "HTTP %d %s" % (status, clean(text))


def _unreadable(error: Exception) -> str:
    return "the answer cannot be read: %s %s" % (type(error).__name__, error)
