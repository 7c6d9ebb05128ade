"""A local stack as `ls` and `status` show it."""

from __future__ import annotations

from deployer.events import Json
from deployer.health.console import AgentLine, ConsoleReader
from deployer.health.phases import latest
from deployer.targets.base import StackStatus
from deployer.targets.local_agent import engine_running, running
from deployer.targets.local_state import StackFolder


def status_of(folder: StackFolder) -> StackStatus:
    """phase: `ready`, `starting`, `tuning`, `failed` or `stopped`."""
    record = folder.record()
    agent, engine = running(folder), engine_running(folder)
    lines = ConsoleReader().read(folder.console_text())
    details: dict[str, Json] = {
        "url": record.url if record else None,
        "agent_pid": agent.pid if agent else None,
        "engine_pid": engine.pid if engine else None,
        "spec_digest": record.spec_digest if record else None,
        "tuned": record.tuned if record else None,
        "phases": _phases(lines),
        "files": folder.files(),
    }
    return StackStatus(
        stack=folder.name,
        target="local",
        region=None,
        phase=_phase(lines, running=agent is not None),
        instance_type=None,
        model=record.alias if record else None,
        created_at=record.created_at if record else None,
        expires_at=None,
        details=details,
    )


def _phase(lines: list[AgentLine], *, running: bool) -> str:
    last: dict[str, str] = {line.phase: line.state for line in latest(lines)}
    if "failed" in last.values():
        return "failed"
    if not running:
        return "stopped"
    if last.get("tuning") in ("start", "progress"):
        return "tuning"
    restarting = last.get("engine") == "restarting"
    return "ready" if last.get("ready") == "done" and not restarting else "starting"


def _phases(lines: list[AgentLine]) -> list[Json]:
    """The last line of each phase, in the order they began."""
    last = {line.phase: line for line in lines}
    return [
        {"phase": line.phase, "state": line.state, "seconds": line.seconds, "message": line.message}
        for line in last.values()
    ]
