"""The agent of a local stack: the same program as on an instance, as a background process of this user."""

from __future__ import annotations

import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from deployer.agent.part import read_json
from deployer.agent.processes import end_leftover
from deployer.clock import Clock
from deployer.targets.local_process import ProcessId, end, find, identify, spawn
from deployer.targets.local_state import StackFolder

#: The agent needs up to 8 s for an engine that is in the middle of a request (see agent.processes).
_AGENT_GRACE_SECONDS = 20.0
_PORT_SECONDS = 5.0
_PORT_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Ended:
    """What `end_all` found and ended, and what is still there. Texts are `kind name`."""

    deleted: tuple[str, ...]
    remaining: tuple[str, ...]


def start(folder: StackFolder, environ: Mapping[str, str]) -> ProcessId:
    """Start the agent on the folder's agent.json. Raises OSError when this Python cannot be run."""
    folder.console.unlink(missing_ok=True)
    kept = {name: value for name, value in environ.items() if not name.startswith("DEPLOYER_AGENT_")}
    return spawn(_command(folder), log=folder.agent_log, cwd=folder.path, environ=kept)


def running(folder: StackFolder) -> ProcessId | None:
    """The stack's agent: the one written down, else one that a killed `up` had no time to write down."""
    record = folder.record()
    known = identify(record.pid, record.start) if record else None
    return known or next(iter(find(*_command(folder)[1:])), None)


def engine_running(folder: StackFolder) -> ProcessId | None:
    """The engine as the agent wrote it down."""
    body = read_json(str(folder.engine_pid))
    pid, mark = body.get("pid"), body.get("start")
    return identify(pid, mark) if isinstance(pid, int) and isinstance(mark, str) else None


def end_all(folder: StackFolder, clock: Clock, *, port: int | None) -> Ended:
    """End the agent, then an engine that outlived it, and see that the engine's port is closed."""
    agent, engine = running(folder), engine_running(folder)
    deleted: list[str] = []
    remaining: list[str] = []
    if agent is not None:
        gone = end(agent, clock, grace_seconds=_AGENT_GRACE_SECONDS)
        (deleted if gone else remaining).append(f"agent {agent.pid}")
    end_leftover(str(folder.engine_pid))
    orphans = find("--api-key-file", str(folder.api_key_file))
    for orphan in orphans:
        end(orphan, clock, grace_seconds=_PORT_SECONDS)
    for process in dict.fromkeys([*([engine] if engine else []), *orphans]):
        (remaining if process.alive else deleted).append(f"engine {process.pid}")
    if deleted and port is not None and not _closed_within(port, clock, _PORT_SECONDS):
        remaining.append(f"port {port}")
    return Ended(tuple(deleted), tuple(remaining))


def answers(port: int) -> bool:
    """Does anything listen on that port of the loopback?"""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _command(folder: StackFolder) -> list[str]:
    return [sys.executable, "-m", "deployer.agent", "--config", str(folder.config_file)]


def _closed_within(port: int, clock: Clock, seconds: float) -> bool:
    deadline = clock.monotonic() + seconds
    while answers(port):
        if clock.monotonic() >= deadline:
            return False
        clock.sleep(_PORT_POLL_SECONDS)
    return True
