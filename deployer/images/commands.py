"""Running a container program: argv as data, its lines as they come, a secret only through standard input."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

#: Lines that go with an error.
KEPT_LINES = 20


@dataclass(frozen=True)
class Done:
    """code: 128 + the signal's number after a signal. lines: the last ones, standard error among them."""

    code: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines)


def run(argv: Sequence[str], *, secret: str = "", on_line: Callable[[str], None] = lambda _line: None) -> Done:
    """Run to the end. An interrupt ends the program too."""
    lines: deque[str] = deque(maxlen=KEPT_LINES)
    with subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, "BUILDKIT_PROGRESS": "plain"},
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        with contextlib.suppress(OSError), child.stdin as stdin:
            stdin.write(secret)
        try:
            for line in child.stdout:
                if line.strip():
                    lines.append(line.rstrip())
                    on_line(line.strip())
        except BaseException:
            child.terminate()
            raise
        code = child.wait()
    return Done(128 - code if code < 0 else code, tuple(lines))
