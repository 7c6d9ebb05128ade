"""A threaded HTTP server on one loopback address, without the name lookup that http.server makes when it binds."""

from __future__ import annotations

import socketserver
import threading
from http.server import BaseHTTPRequestHandler

#: How soon close() is noticed, seconds.
_POLL = 0.02


class LoopbackServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Listens on a free port of address from construction to close()."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: str, handler: type[BaseHTTPRequestHandler], *, name: str) -> None:
        super().__init__((address, 0), handler)
        threading.Thread(target=self.serve_forever, args=(_POLL,), name=name, daemon=True).start()

    @property
    def url(self) -> str:
        """Base URL, without a trailing slash."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"

    def close(self) -> None:
        """Stop listening; requests under way end with their connection."""
        self.shutdown()
        self.server_close()
