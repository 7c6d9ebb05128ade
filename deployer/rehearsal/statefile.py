"""What a running sandbox says about itself, in `<state dir>/sandbox.json` (mode 0600)."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from deployer.clock import SystemClock
from deployer.rehearsal.processes import ProcessId

_FILE = "sandbox.json"


@dataclass(frozen=True)
class Running:
    """A sandbox that is up. machines: the kind it uses. env: what a client needs to be set."""

    process: ProcessId
    url: str
    machines: str
    env: dict[str, str]
    substitutions: list[str]


def write(state_dir: Path, running: Running) -> None:
    """Write it at one stroke, readable by its owner only."""
    target = state_dir / _FILE
    draft = state_dir / f"{_FILE}.{os.getpid()}"
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump({"v": 1, **asdict(running)}, file)
    draft.replace(target)


def read(state_dir: Path) -> Running | None:
    """What the file says, whether or not that process still runs. None when there is none or it makes no sense."""
    try:
        document = json.loads((state_dir / _FILE).read_text(encoding="utf-8"))
        process = ProcessId(int(document["process"]["pid"]), str(document["process"]["started"]))
        return Running(
            process, document["url"], document["machines"], dict(document["env"]), list(document["substitutions"])
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remove(state_dir: Path) -> None:
    """Forget it."""
    with contextlib.suppress(OSError):
        (state_dir / _FILE).unlink()


def reap(state_dir: Path) -> None:
    """End machines that a killed sandbox has left behind. Must not be called while one runs there.

    Booted machines are this host's: those of every sandbox that is gone are ended.
    """
    from deployer.rehearsal.machines import process
    from deployer.rehearsal.machines.booted import slots

    slots.reap(SystemClock())
    process.reap(state_dir)
