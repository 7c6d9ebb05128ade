"""Network guard: a proxy that lets nothing out and remembers who tried (E19).

The environment of a rehearsal names it as HTTP(S)_PROXY, so a call that would leave the machine ends here.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from deployer.clock import Clock
from deployer.rehearsal.wsgi import StartResponse, WsgiServer


def guarded(url: str) -> dict[str, str]:
    """The environment that sends a program's ways out to the guard at this URL, under both spellings."""
    return dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), url)


class Escapes:
    """Everything that tried to leave, or that reached the emulated cloud without being something it emulates."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: list[dict[str, Any]] = []

    def add(self, kind: str, what: str) -> None:
        """kind: `proxy` or `unhandled`. what: the request line or the operation."""
        with self._lock:
            self._seen.append({"at": round(self._clock.now(), 3), "kind": kind, "what": what})

    def listing(self) -> list[dict[str, Any]]:
        """All of them, in order."""
        with self._lock:
            return list(self._seen)


class Guard:
    """The listener. url: what HTTP_PROXY and HTTPS_PROXY are set to."""

    def __init__(self, escapes: Escapes) -> None:
        self._escapes = escapes
        self._server = WsgiServer(self._refuse)
        self.url = self._server.url

    def close(self) -> None:
        """Stop listening."""
        self._server.close()

    def _refuse(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        self._escapes.add("proxy", f"{environ['REQUEST_METHOD']} {environ['REQUEST_URI']}")
        start_response("403 Forbidden", [("Content-Type", "text/plain"), ("Connection", "close")])
        return [b"the rehearsal lets nothing out of this machine\n"]
