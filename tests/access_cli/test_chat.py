"""`deployer chat` with a machine's engine: a filter, a document, and a talk on a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import subprocess
import termios
import time

from tests.access_cli.support import STACK, Box
from tests.rehearse.support import ROOT, program


def test_one_answer_to_stdout_and_its_measure_to_stderr(box: Box) -> None:
    ran = box.run("chat", STACK, "Say hello.", "--max-tokens", "24")
    assert ran.code == 0, ran.err
    assert ran.out.strip()
    assert re.fullmatch(rb"\d+ tokens, [\d.]+ tokens/s, \d+ of \d+ drafts accepted \(\d+%\)\n", ran.err)


def test_as_a_filter_and_as_json(box: Box) -> None:
    ran = box.run("chat", STACK, "--max-tokens", "24", "--json", stdin=b"Say hello.")
    body = json.loads(ran.out)
    assert ran.code == 0 and body["tokens"] == 24 and body["answer"].strip()


def test_no_question_is_a_usage_error(box: Box) -> None:
    assert box.run("chat", STACK, stdin=b" \n").code == 2


def test_a_talk_on_a_terminal_survives_ctrl_c(box: Box) -> None:
    terminal, other = pty.openpty()
    process = subprocess.Popen(
        program("chat", STACK, "--max-tokens", "24"),
        cwd=ROOT,
        env={**os.environ, **box.sandbox.env, "TERM": "dumb"},
        stdin=other,
        stdout=other,
        stderr=other,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(other)
    try:
        _until(terminal, b"ends the talk.*> ")
        os.write(terminal, b"Hello\n")
        _until(terminal, b"tokens/s.*> ")
        os.write(terminal, b"\x03")
        _until(terminal, b"Ctrl-D ends the talk.*> ")
        os.write(terminal, b"Again\n")
        _until(terminal, b"tokens/s.*> ")
        os.write(terminal, b"\x04")
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


def _until(terminal: int, pattern: bytes, seconds: float = 30.0) -> None:
    seen, deadline = b"", time.monotonic() + seconds
    while not re.search(pattern, seen, re.DOTALL):
        ready, _, _ = select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, seen
        seen += os.read(terminal, 4096)
