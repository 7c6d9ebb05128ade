"""Events as JSON lines, plain lines and a live terminal."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import re
import threading

import pytest

from deployer.events import Event
from deployer.views.base import choose
from deployer.views.enduring import EnduringView
from deployer.views.json import JsonView
from deployer.views.lines import line_of
from deployer.views.live import LiveView
from deployer.views.plain import PlainView
from deployer.views.timeline import bar, spans_of
from deployer.views.units import duration, shortened, size

_SGR = re.compile(r"\x1b\[[0-9;]*m")

UP = [
    Event("step.start", {"action": "create", "kind": "instance", "name": "deployer-x-instance", "reason": "none"}),
    Event("step.done", {"action": "create", "kind": "instance", "name": "n", "id": "i-1", "seconds": 1.25}),
    Event("phase", {"phase": "weights", "state": "progress", "percent": 50, "bytes": 2**30, "total_bytes": 2**31}),
    Event("phase", {"phase": "weights", "state": "done", "bytes": 2**31, "total_bytes": 2**31, "seconds": 75}),
    Event("phase", {"phase": "engine", "state": "failed", "code": "bad_flag", "message": "no", "log": ["a", "b"]}),
    Event("probe", {"rung": "port", "state": "waiting", "observation": "refused"}),
    Event("probe", {"rung": "port", "state": "waiting", "observation": "refused"}),
    Event("probe", {"rung": "port", "state": "passed", "observation": "open", "seconds": 0.5}),
    Event("warning", {"message": "slow", "hint": "wait"}),
    Event("up.summary", {"stack": "x", "changes": 1, "seconds": 80}),
]
PLAIN = """\
… create instance deployer-x-instance
✔ create instance n (i-1)  1.2 s
✔ weights 2.0 GiB  1 min 15 s
✘ engine failed: bad_flag no
    a
    b
… port: refused
✔ port: open  0.5 s
! slow
    hint: wait
✔ x is up, 1 change  1 min 20 s
"""

REHEARSAL = [
    Event("rehearsal.start", {"spec": "s.yaml", "stack": "s", "t": 0.0}),
    Event("rehearsal.phase", {"name": "up", "state": "start", "t": 1.0}),
    Event("step.done", {"action": "create", "kind": "role", "name": "r", "seconds": 0.01, "t": 1.2}),
    Event("phase", {"phase": "weights", "state": "done", "seconds": 1.0, "t": 2.5}),
    Event("rehearsal.phase", {"name": "up", "state": "done", "seconds": 3.0, "t": 4.0, "message": "7 changes"}),
    Event(
        "rehearsal.summary",
        {
            "stack": "s",
            "ok": True,
            "completion": "Hello",
            "draft_n": 10,
            "draft_n_accepted": 7,
            "second_up_changes": 0,
            "aws_calls": 42,
            "leaks": [],
            "phases": [{"name": "up", "seconds": 3.0}],
            "seconds": 4.0,
            "substitutions": ["the weights are synthetic"],
        },
    ),
]


def test_json_is_one_object_a_line_and_documents_are_bare() -> None:
    stream = io.StringIO()
    with JsonView(stream) as view:
        for event in UP:
            view.emit(event)
        view.show(Event("plan", {"stack": "ж"}))
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert lines[0] == {"event": "step.start", **UP[0].fields}
    assert len(lines) == len(UP) + 1
    assert lines[-1] == {"stack": "ж"}


def test_plain_says_each_thing_once_without_colour() -> None:
    stream = io.StringIO()
    with PlainView(stream) as view:
        for event in UP:
            view.emit(event)
    assert stream.getvalue() == PLAIN


def test_the_report_of_a_rehearsal() -> None:
    stream = io.StringIO()
    with PlainView(stream) as view:
        for event in REHEARSAL:
            view.emit(event)
    text = stream.getvalue()
    assert "\x1b" not in text
    assert "7 of 10 accepted (70 %)" in text
    assert "left behind  nothing" in text
    assert "box: weights" in text and "create role" not in text.split("Timeline")[1]
    assert "the weights are synthetic" in text
    assert text.endswith("✔ s rehearsed in 4.0 s\n")


def test_a_failed_rehearsal_does_not_look_like_success() -> None:
    stream = io.StringIO()
    failed = {**REHEARSAL[-1].fields, "ok": False, "leaks": ["ec2:instances:i-1"], "draft_n": None}
    with PlainView(stream) as view:
        view.emit(Event("rehearsal.summary", failed))
    text = stream.getvalue()
    assert "✘ s failed" in text and "✔" not in text
    assert "left behind  ec2:instances:i-1" in text


def _on_a_terminal(events: list[Event], **environ: str) -> str:
    """What a terminal of 100 columns gets."""
    ours, theirs = pty.openpty()
    got: list[bytes] = []

    def read() -> None:
        try:
            while chunk := os.read(ours, 4096):
                got.append(chunk)
        except OSError:
            pass

    thread = threading.Thread(target=read)
    thread.start()
    with os.fdopen(theirs, "w", encoding="utf-8") as stream, choose(stream, environ, as_json=False) as view:
        for event in events:
            view.emit(event)
    thread.join()
    os.close(ours)
    return b"".join(got).decode()


@pytest.mark.parametrize("events", [UP, REHEARSAL], ids=["up", "rehearsal"])
def test_a_terminal_gets_colour_and_no_color_none(events, monkeypatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = _on_a_terminal(events, TERM="xterm-256color")
    assert _SGR.search(coloured)
    monkeypatch.setenv("NO_COLOR", "1")
    plain = _on_a_terminal(events, TERM="xterm-256color", NO_COLOR="1")
    assert not [code for code in _SGR.findall(plain) if re.search(r"[349]\d", code)]


def test_the_choice_of_a_view() -> None:
    assert isinstance(choose(io.StringIO(), {}, as_json=True), JsonView)
    assert isinstance(choose(io.StringIO(), {}, as_json=False), PlainView)
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as terminal, os.fdopen(ours):
        assert isinstance(choose(terminal, {"TERM": "dumb"}, as_json=False), PlainView)
        assert isinstance(choose(terminal, {"TERM": "xterm"}, as_json=False), LiveView)


def test_many_threads_and_the_refresh_never_wait_for_each_other(monkeypatch) -> None:
    monkeypatch.setattr("deployer.views.live._REFRESHES_PER_SECOND", 500)
    ours, theirs = pty.openpty()
    drain = threading.Thread(target=_drain, args=(ours,), daemon=True)
    drain.start()

    def work(view: LiveView, worker: int) -> None:
        for number in range(400):
            fields = {"action": "create", "kind": "instance", "name": f"{worker}-{number}", "reason": "none"}
            view.emit(Event("step.start", fields))
            view.emit(Event("step.done", {**fields, "id": "i", "seconds": 1.0}))

    def run() -> None:
        with os.fdopen(theirs, "w", encoding="utf-8") as stream, LiveView(stream, colour=True) as view:
            workers = [threading.Thread(target=work, args=(view, worker), daemon=True) for worker in range(4)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()

    whole = threading.Thread(target=run, daemon=True)
    whole.start()
    whole.join(timeout=60)
    assert not whole.is_alive(), "the view waits for ever"
    drain.join(timeout=10)
    os.close(ours)


def _drain(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        while os.read(descriptor, 65536):
            pass


def test_a_phase_whose_words_stay_the_same_is_seen_to_end() -> None:
    shown = _on_a_terminal(
        [Event("phase", {"phase": "boot", "state": "start"}), Event("phase", {"phase": "boot", "state": "done"})],
        TERM="xterm-256color",
    )
    assert "✔" in _SGR.sub("", shown)


class _Broken(io.StringIO):
    def __init__(self, error: OSError) -> None:
        super().__init__()
        self._error = error

    def write(self, _text: str) -> int:
        raise self._error


@pytest.mark.parametrize("error", [BrokenPipeError(), OSError(28, "No space left on device")])
def test_work_goes_on_when_nobody_can_read_about_it(error) -> None:
    with EnduringView(PlainView(_Broken(error))) as view:
        for event in UP:
            view.emit(event)


def test_a_document_that_cannot_be_written_is_an_error() -> None:
    with pytest.raises(OSError), EnduringView(JsonView(_Broken(OSError(28, "full")))) as view:
        view.show(Event("version", {"version": "1"}))
    with EnduringView(JsonView(_Broken(BrokenPipeError()))) as view:
        view.show(Event("version", {"version": "1"}))


def test_unknown_events_are_no_line() -> None:
    assert line_of(Event("from.the.future", {"x": 1})) is None


def test_spans_start_when_the_thing_began() -> None:
    up, weights = spans_of(REHEARSAL)
    assert (up.name, up.start, up.end) == ("up", 1.0, 4.0)
    assert (weights.name, weights.start, weights.end, weights.inner) == ("box: weights", 1.5, 2.5, True)
    assert bar(up, 4.0, width=8) == "  ━━━━━━"
    assert bar(up, 0.0, width=8) == " " * 8


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.0 s"), (9.94, "9.9 s"), (12.4, "12 s"), (61, "1 min 01 s"), (7500, "2 h 05 min"), (90000, "1 d 1 h")],
)
def test_durations(seconds, text) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (1023, "1023 B"), (2048, "2.0 KiB"), (17.2 * 2**30, "17.2 GiB"), (2**40, "1.0 TiB")]
)
def test_sizes(count, text) -> None:
    assert size(count) == text


def test_shortened() -> None:
    assert shortened("a  b\nc", 10) == "a b c"
    assert shortened("abcdef", 4) == "abc…"
