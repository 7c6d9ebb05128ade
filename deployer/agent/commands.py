"""Commands of the system: their last output lines, and an end when we are stopped."""

from __future__ import annotations

import contextlib
import subprocess

from .console import Phase
from .stop import Stop

_KEPT_LINES = 40


def run(stop: Stop, phase: Phase, command: str, secret: str = "") -> tuple[int, list[str]]:
    """(exit code, last output lines) of a command whose words are separated by spaces; ended when we are stopped.

    secret: goes to its standard input.
    """
    pipe = subprocess.PIPE
    with subprocess.Popen(command.split(" "), stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True) as child:
        lines: list[str] = []
        assert child.stdin is not None
        with contextlib.suppress(OSError), child.stdin as stdin:
            stdin.write(secret)
        for line in child.stdout or ():
            lines = [*lines[-_KEPT_LINES:], line]
            phase.progress(line)
            if stop.asked:
                child.terminate()
        code = child.wait()
    stop.check()
    return code, lines
