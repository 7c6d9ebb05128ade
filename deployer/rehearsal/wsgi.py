"""A small threaded WSGI server for loopback: HTTP/1.1 with kept-alive connections, and answers that can get lost."""

from __future__ import annotations

import contextlib
import io
import socket
import sys
import threading
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote_to_bytes

from deployer.rehearsal.fidelity.call import DropConnection

StartResponse = Callable[[str, list[tuple[str, str]]], object]
WsgiApp = Callable[[dict[str, Any], StartResponse], Iterable[bytes]]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Server

    def _serve(self) -> None:
        """Read the whole request, ask the app, send the whole answer."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            body = self._chunks()
        started: list[tuple[str, list[tuple[str, str]]]] = []
        try:
            parts = self.server.app(self._environ(body), lambda status, headers: started.append((status, headers)))
            content = b"".join(parts)
        except DropConnection:
            self.close_connection = True
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
            return
        status, headers = started[0]
        code, _, reason = status.partition(" ")
        self.send_response_only(int(code), reason)
        length = str(len(content))
        for name, value in headers:
            match name.lower():
                case "content-length" if self.command == "HEAD":
                    length = value
                case "content-length" | "connection":
                    pass
                case _:
                    self.send_header(name, value)
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
        self.wfile.flush()

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = do_OPTIONS = do_CONNECT = _serve  # noqa: N815

    def _chunks(self) -> bytes:
        content = io.BytesIO()
        while size := int(self.rfile.readline().split(b";")[0], 16):
            content.write(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return content.getvalue()

    def _environ(self, body: bytes) -> dict[str, Any]:
        path, _, query = self.path.partition("?")
        environ: dict[str, Any] = {
            "REQUEST_METHOD": self.command,
            "REQUEST_URI": self.path,
            "SCRIPT_NAME": "",
            "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
            "QUERY_STRING": query,
            "SERVER_NAME": self.server.host,
            "SERVER_PORT": str(self.server.port),
            "SERVER_PROTOCOL": self.request_version,
            "REMOTE_ADDR": self.client_address[0],
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }
        for name, value in self.headers.items():
            key = name.upper().replace("-", "_")
            if key not in ("CONTENT_TYPE", "CONTENT_LENGTH", "TRANSFER_ENCODING"):
                environ[f"HTTP_{key}"] = value
        return environ

    def log_message(self, format: str, *args: object) -> None:
        """The record of calls is kept elsewhere."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    allow_reuse_address = True

    def __init__(self, host: str, port: int, app: WsgiApp) -> None:
        self.app = app
        self.connections: set[socket.socket] = set()
        super().__init__((host, port), _Handler)
        self.host, self.port = host, int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news; anything else goes to the log."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class WsgiServer:
    """Serves an app on 127.0.0.1 from construction until `close`. port 0 takes a free one."""

    def __init__(self, app: WsgiApp, *, port: int = 0) -> None:
        self._server = _Server("127.0.0.1", port, app)
        self.url = f"http://127.0.0.1:{self._server.port}"
        self.port = self._server.port
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name=f"loopback {self.port}", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop listening and end every open connection."""
        self._server.shutdown()
        self._server.server_close()
        for connection in list(self._server.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
