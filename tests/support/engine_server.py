"""An HTTP server that answers as llama-server does in each state of its life (shapes from llama.cpp b11549)."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "sk-right"


@dataclass
class EngineState:
    """loading: 503 on every path. completion: `ok`, `hang`, `500` or `empty`. alias None: router mode."""

    loading: bool = False
    alias: str | None = "tiny"
    n_ctx: int | None = 4096
    completion: str = "ok"
    drafts: tuple[int, int] | None = (20, 15)
    reasoning: bool = False
    released: threading.Event = field(default_factory=threading.Event)
    requests: list[str] = field(default_factory=list)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: EngineServer

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer()

    def _answer(self) -> None:
        state = self.server.state
        state.requests.append(self.path)
        if state.loading:
            self._error(503, "Loading model", "unavailable_error")
        elif self.path != "/health" and self.headers.get("Authorization") != f"Bearer {KEY}":
            self._error(401, "Invalid API Key", "authentication_error")
        else:
            match self.path:
                case "/health":
                    self._send(200, {"status": "ok"})
                case "/v1/models":
                    names = [state.alias] if state.alias else []
                    self._send(200, {"object": "list", "data": [{"id": name} for name in names]})
                case "/props":
                    settings = {"n_ctx": state.n_ctx} if state.n_ctx else {}
                    self._send(200, {"default_generation_settings": settings, "total_slots": 1})
                case "/v1/chat/completions":
                    self._complete(state)
                case _:
                    self._error(404, "File Not Found", "not_found_error")

    def _complete(self, state: EngineState) -> None:
        if state.completion == "hang":
            state.released.wait(30)
            self.close_connection = True
            return
        if state.completion == "500":
            self._error(500, "Compute error.", "server_error")
            return
        text = "" if state.completion == "empty" else "Hello."
        timings: dict[str, object] = {"predicted_n": 3, "predicted_per_second": 42.5}
        if state.drafts is not None:
            timings |= {"draft_n": state.drafts[0], "draft_n_accepted": state.drafts[1]}
        message = {"content": "", "reasoning_content": text} if state.reasoning else {"content": text}
        self._send(200, {"choices": [{"message": {"role": "assistant", **message}}], "timings": timings})

    def _error(self, code: int, message: str, kind: str) -> None:
        self._send(code, {"error": {"message": message, "type": kind, "code": code}})

    def _send(self, status: int, body: dict) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


class EngineServer(ThreadingHTTPServer):
    """Bound at once (so the port is known), listening only after `listen`: refused before. A context manager."""

    daemon_threads = True

    def __init__(self, state: EngineState | None = None, *, listening: bool = True) -> None:
        super().__init__(("127.0.0.1", 0), _Handler, bind_and_activate=False)
        self.state = state or EngineState()
        self.server_bind()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        if listening:
            self.listen()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def listen(self) -> None:
        self.server_activate()
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self.state.released.set()
        if self._thread.is_alive():
            self.shutdown()
        self.server_close()
