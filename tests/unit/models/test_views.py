"""How a push and a model look: in a pipe, on a terminal, as JSON lines."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import re

from deployer.events import Event
from deployer.views.models import ModelView, choose_model_view

_MODEL = {
    "source": "modelscope://o/r/f.gguf",
    "file": "f.gguf",
    "size_bytes": 17_000_000_000,
    "architecture": "qwen35",
    "name": "Qwen",
    "quantisation": "Q4_K_M",
    "parameters": 27_000_000_000,
    "context_limit": 262144,
    "layers": 64,
    "full_attention_layers": 16,
    "experts": 0,
    "experts_used": 0,
    "tensors": 851,
    "mtp_head": False,
    "mtp_tensors_missing": True,
    "mtp_reason": "the key promises it",
    "notes": ["do not serve it with engine.mtp: on"],
}
_START = {
    "url": "s3://b/f.gguf",
    "total_bytes": 100,
    "parts": 4,
    "part_bytes": 25,
    "there_bytes": 50,
    "reread_bytes": 0,
    "why": "what arrived before is kept",
}


def _progress(percent: float) -> Event:
    fields = {"bytes": percent, "total_bytes": 100, "percent": percent, "bytes_per_second": 10, "left_seconds": 5.0}
    return Event("push.progress", fields)


def _push(view) -> None:
    with view:
        view.emit(Event("push.model", _MODEL))
        view.emit(Event("push.start", _START))
        for percent in (51, 52, 60, 61, 100):
            view.emit(_progress(percent))
        view.emit(Event("push.verified", {"sha256": "ab", "says": None}))
        view.show(
            Event(
                "model.pushed",
                {
                    "changed": True,
                    "url": "s3://b/f.gguf",
                    "size_bytes": 100,
                    "seconds": 5.0,
                    "spec": "model:\n  file: f\n",
                },
            )
        )


def test_in_a_pipe_a_line_every_tenth() -> None:
    out = io.StringIO()
    _push(choose_model_view(out, {}, as_json=False))
    text = out.getvalue()
    assert "MTP head       no: the key promises it" in text
    assert "! do not serve it" in text
    assert "16 with full attention" in text
    assert "50 B of it there already: what arrived before is kept" in text
    assert re.findall(r"… (\d+) %", text) == ["51", "60", "100"]
    assert "10 B/s, 5.0 s left" in text
    assert "\x1b" not in text
    assert text.endswith("for a spec:\nmodel:\n  file: f\n")


def _all_of(terminal: int) -> str:
    """What was written to it, until its other end was closed; then Linux says EIO, others nothing."""
    text = b""
    with os.fdopen(terminal, "rb", buffering=0) as stream, contextlib.suppress(OSError):
        while piece := stream.read(1 << 16):
            text += piece
    return text.decode()


def test_on_a_terminal_a_bar() -> None:
    parent, child = pty.openpty()
    with os.fdopen(child, "w") as stream:
        _push(choose_model_view(stream, {"TERM": "xterm"}, as_json=False))
    text = _all_of(parent)
    assert "━" in text
    assert "for a spec:" in text


def test_a_terminal_that_is_dumb_gets_lines() -> None:
    parent, child = pty.openpty()
    with os.fdopen(child, "w") as stream:
        view = choose_model_view(stream, {"TERM": "dumb"}, as_json=False)
        assert isinstance(view, ModelView)
        _push(view)
        assert b"\x1b" not in os.read(parent, 1 << 16)
    os.close(parent)


def test_json_lines() -> None:
    out = io.StringIO()
    _push(choose_model_view(out, {}, as_json=True))
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert lines[0]["event"] == "push.model"
    assert "event" not in lines[-1]
