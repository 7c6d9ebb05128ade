"""Streamed answers: what is kept, what is cut, what the engine refuses."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from deployer.access.conversation import Conversation, Piece
from deployer.errors import DeployerError, NotHealthyError, RefusedError


def _delta(**delta: str) -> str:
    return "data: " + json.dumps({"choices": [{"delta": delta}]})


TIMINGS = {"predicted_n": 5, "predicted_per_second": 40.0, "draft_n": 4, "draft_n_accepted": 3}
WHOLE = [
    _delta(reasoning_content="hm"), ": ping", _delta(content="Hel"), _delta(content="lo."),
    "data: " + json.dumps({"choices": [], "timings": TIMINGS}), "data: [DONE]",
]  # fmt: skip


class Engine(ThreadingHTTPServer):
    """Answers every question with `status` and `lines`, and keeps what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status, self.lines = 200, WHOLE
        self.asked: list[dict[str, Any]] = []


class _Handler(BaseHTTPRequestHandler):
    server: Engine

    def do_POST(self) -> None:
        self.server.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write("".join(line + "\n\n" for line in self.server.lines).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def talk(engine: Engine) -> Conversation:
    return Conversation(lambda: f"http://127.0.0.1:{engine.server_address[1]}/v1", "sk-1", "tiny", max_tokens=9)


def test_an_answer_comes_in_pieces_with_its_measure(talk: Conversation, engine: Engine) -> None:
    assert list(talk.ask("Hi")) == [Piece("thought", "hm"), Piece("text", "Hel"), Piece("text", "lo.")]
    assert talk.measure is not None
    assert (talk.measure.tokens, talk.measure.draft_n, talk.measure.draft_n_accepted) == (5, 4, 3)
    assert engine.asked[0]["max_tokens"] == 9 and engine.asked[0]["stream"] is True


def test_what_was_said_goes_along_but_not_what_was_thought(talk: Conversation, engine: Engine) -> None:
    list(talk.ask("Hi"))
    list(talk.ask("And?"))
    said = [(one["role"], one["content"]) for one in engine.asked[1]["messages"]]
    assert said == [("user", "Hi"), ("assistant", "Hello."), ("user", "And?")]


def test_a_stopped_answer_stays_as_far_as_it_came(talk: Conversation) -> None:
    stream = talk.ask("Hi")
    assert [next(stream), next(stream)][1] == Piece("text", "Hel")
    stream.close()
    assert talk.messages[-1] == {"role": "assistant", "content": "Hel"}


@pytest.mark.parametrize(
    ("status", "kind", "word"),
    [(401, RefusedError, "key rotate"), (400, RefusedError, "Why."), (503, NotHealthyError, "status"),
     (500, NotHealthyError, "Why.")],
)  # fmt: skip
def test_a_refusal_in_the_engines_own_words(
    talk: Conversation, engine: Engine, status: int, kind: type[DeployerError], word: str
) -> None:
    engine.status, engine.lines = status, [json.dumps({"error": {"message": "Why."}})]
    with pytest.raises(kind) as caught:
        list(talk.ask("Hi"))
    assert word in f"{caught.value.message} {caught.value.hint}"
    assert talk.messages == [], "a question nobody answered is not repeated with the next"


@pytest.mark.parametrize("end", [[], ['data: {"error": {"message": "Why."}}'], ['error: {"message": "Why."}']])
def test_an_answer_without_its_end_is_an_error(talk: Conversation, engine: Engine, end: list[str]) -> None:
    engine.lines = [*WHOLE[:3], *end]
    with pytest.raises(NotHealthyError):
        list(talk.ask("Hi"))


def test_nobody_there(talk: Conversation, engine: Engine) -> None:
    engine.shutdown()
    engine.server_close()
    with pytest.raises(NotHealthyError, match="broke"):
        list(talk.ask("Hi"))
