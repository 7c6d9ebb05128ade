"""A new API key for a stack on this machine. The key file is the truth, the engine reads it when it starts."""

from __future__ import annotations

from dataclasses import replace

from deployer.access.secrets import new_api_key
from deployer.clock import Clock
from deployer.events import Emit
from deployer.settings import Settings
from deployer.targets.local_agent import end_all, running, start
from deployer.targets.local_health import AgentAlive
from deployer.targets.local_lock import stack_lock
from deployer.targets.local_state import recorded_folder
from deployer.targets.rotation import Rotated, foretell, prove


def rotate(settings: Settings, stack: str, clock: Clock, emit: Emit) -> Rotated:
    """A stack that does not run gets the key alone. Raises RefusedError when there is no such stack."""
    folder = recorded_folder(settings, stack)
    with stack_lock(folder.path):
        record = folder.record()
        assert record is not None
        runs = running(folder) is not None
        if runs:
            foretell(folder.console_text(), emit)
        old, new = folder.ensure_api_key(), new_api_key()
        folder.write_api_key(new)
        if not runs:
            return Rotated(stack, 0.0)
        began = clock.monotonic()
        end_all(folder, clock, port=record.port)
        process = start(folder, settings.environ)
        folder.write_record(replace(record, pid=process.pid, start=process.start))
        prove(
            instance=AgentAlive(folder, lambda: running(folder)),
            console=folder.console_text,
            base_url=record.url,
            alias=record.alias,
            certificate=None,
            old=old,
            new=new,
            clock=clock,
            emit=emit,
        )
        return Rotated(stack, round(clock.monotonic() - began, 1))
