"""`deployer tune` of a stack on this machine: the request is a file beside the agent's state."""

from __future__ import annotations

from dataclasses import asdict, replace

from deployer.clock import Clock
from deployer.errors import RefusedError
from deployer.events import Emit
from deployer.settings import Settings
from deployer.targets.local_agent import running
from deployer.targets.local_health import AgentAlive
from deployer.targets.local_lock import stack_lock
from deployer.targets.local_state import StackFolder, recorded_folder
from deployer.targets.tuning import Tuned, tune


class _Folder:
    """The agent's state folder."""

    def __init__(self, folder: StackFolder) -> None:
        self._state = folder.engine_pid.parent

    def put(self, name: str, text: str) -> None:
        path = self._state / name
        scratch = path.with_name(f".{name}.new")
        scratch.write_text(text)
        scratch.replace(path)


def tune_stack(settings: Settings, stack: str, clock: Clock, emit: Emit, *, measure_only: bool) -> Tuned:
    """Raises RefusedError when the stack is not there or does not run."""
    folder = recorded_folder(settings, stack)
    with stack_lock(folder.path):
        record = folder.record()
        if record is None or running(folder) is None:
            raise RefusedError(f"stack {stack} does not run", hint="`deployer up` starts it")
        start = clock.monotonic()
        report = tune(
            _Folder(folder),
            instance=AgentAlive(folder, lambda: running(folder)),
            console=folder.console_text,
            base_url=record.url.removesuffix("/v1"),
            alias=record.alias,
            certificate=None,
            api_key=folder.ensure_api_key(),
            measure_only=measure_only,
            clock=clock,
            emit=emit,
        )
        if report.applied and report.chosen is not None:
            folder.write_record(replace(record, tuned=asdict(report.chosen)))
        return Tuned(stack, report, round(clock.monotonic() - start, 1))
