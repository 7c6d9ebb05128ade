"""The ladder of a local stack: the same nine rungs, the first one looks at a process instead of an instance."""

from __future__ import annotations

from collections.abc import Callable

from deployer.errors import NotHealthyError
from deployer.health.base import Observation
from deployer.health.console import ConsoleReader
from deployer.targets.local_process import ProcessId
from deployer.targets.local_state import StackFolder


class AgentAlive:
    """agent: the process, None when it is gone. An end that the console explains is left to the agent rung."""

    name = "instance"
    deadline_seconds = 5.0
    decides = True
    recheck_seconds = 1.0

    def __init__(self, folder: StackFolder, agent: Callable[[], ProcessId | None]) -> None:
        self._folder = folder
        self._agent = agent

    def check(self) -> Observation:
        process = self._agent()
        if process is not None:
            return Observation("passed", f"the agent runs as process {process.pid}")
        lines = ConsoleReader().read(self._folder.console_text())
        if any(line.state == "failed" for line in lines):
            return Observation("passed", "the agent has ended and said why")
        said = self._folder.log_tail(5)
        text = "the agent's process has ended" + (": " + " / ".join(said) if said else "")
        error = NotHealthyError(text, where=str(self._folder.agent_log), hint="`deployer up` again starts a new one")
        return Observation("failed", text, error)
