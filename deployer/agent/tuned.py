"""What a tuning leaves on the disk: the choice, with what it was measured on, so that it holds for nothing else.

Below the state folder: `tuned.json` is the choice, `tune-request.json` asks the running agent for a tuning,
`tune-cancel` asks it to leave one. agent.json is never changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from typing import Any

from .config import Config
from .part import read_json, remove, write_json
from .tuning import TUNE_VERSION, choice_in, with_choice

REQUEST, CANCEL, CHOICE = "tune-request.json", "tune-cancel", "tuned.json"
_CPU = "/proc/cpuinfo"
_TELLING = ("model name", "CPU implementer", "CPU part", "flags", "Features")
#: Of the engine's arguments these say nothing about its speed.
_ELSEWHERE = ("--host", "--port", "--alias")


class Tuned:
    """The files of one machine."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._decided = list(config.argv)

    def request(self) -> dict[str, Any] | None:
        """What was asked for since the last look; asked once, so that a tuning that is killed is not begun again."""
        path = self._path(REQUEST)
        if not os.path.exists(path):
            return None
        body = read_json(path)
        remove(path)
        # Of an earlier one.
        remove(self._path(CANCEL))
        return body

    def cancelled(self) -> bool:
        """Does somebody want the tuning to end?"""
        return os.path.exists(self._path(CANCEL))

    def begun(self) -> bool:
        """Before the first boot's tuning: if it kills the machine, the next boot does without. False: not written."""
        return self.keep(None)

    def keep(self, choice: dict[str, Any] | None) -> bool:
        """The choice, for every later start. False when it cannot be written."""
        try:
            write_json(self._path(CHOICE), {"v": TUNE_VERSION, "basis": self._basis(), "choice": choice})
        except OSError:
            return False
        return True

    def recall(self) -> tuple[bool, dict[str, Any] | None, str]:
        """(was anything tuned for this engine here, the choice, why an old one does not hold any more)."""
        body = read_json(self._path(CHOICE))
        if body.get("v") != TUNE_VERSION:
            return False, None, ""
        now = self._basis()
        then = body.get("basis") or {}
        changed = [name for name, mark in now.items() if then.get(name) != mark]
        choice: dict[str, Any] | None = body.get("choice")
        if changed:
            return False, None, "another %s than it was measured with" % " and ".join(changed) if choice else ""
        return True, choice, ""

    def _basis(self) -> dict[str, str]:
        """Short names of what a speed depends on."""
        config = self._config
        plain = with_choice(self._decided, (0, 0), "")
        for flag in (*_ELSEWHERE, "-t", "-tb"):
            if flag in plain:
                del plain[plain.index(flag) : plain.index(flag) + 2]
        return {
            "engine": _short(config.command, config.image, plain, _program(config.command)),
            "model": _short(config.weights_file, config.sha256, _size(config.weights_file)),
            "hardware": _short(_processor(), os.cpu_count(), config.expects_gpu),
            "MTP or thread setting": _short(
                choice_in(self._decided), config.tune.get("drafts"), config.tune.get("threads")
            ),
        }

    def _path(self, name: str) -> str:
        return "%s/%s" % (self._config.state, name)


def _short(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


def _program(command: list[str]) -> list[float]:
    """Size and time of the native program; a container's image has a name of its own."""
    try:
        found = os.stat(shutil.which(command[0]) or "")
    except OSError:
        return []
    return [found.st_size, int(found.st_mtime)]


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _processor() -> str:
    try:
        with open(_CPU, encoding="utf-8", errors="replace") as stream:
            lines = stream.read().split("\n\n")[0].split("\n")
    except OSError:
        return ""
    return "\n".join([line for line in lines if line.startswith(_TELLING)])
