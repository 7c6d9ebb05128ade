"""One emulated instance: moto's record of it, its machine, and where it is between two states (E3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from deployer.rehearsal.fidelity.task import Task
from deployer.rehearsal.machines.base import Hypervisor, Machine, MachineLaunch, Stoppable

State = Literal["pending", "running", "shutting-down", "terminated", "stopping", "stopped"]

#: EC2's numbers for the states.
STATE_CODES: dict[State, int] = {
    "pending": 0,
    "running": 16,
    "shutting-down": 32,
    "terminated": 48,
    "stopping": 64,
    "stopped": 80,
}

#: GetConsoleOutput returns no more than this many bytes.
CONSOLE_BYTES = 64 * 1024


@dataclass
class Box:
    """state follows `work`: a transition ends when its work is done and `not_before` (cloud clock) has passed.

    reclaimed_at: when the spot market takes it back (cloud clock), once it has said so.
    """

    instance: Any
    launch: MachineLaunch
    hypervisor: Hypervisor
    state: State
    not_before: float
    launched_at: float
    work: Task | None = None
    machine: Machine | None = None
    ended_at: float | None = None
    last_console: bytes = b""
    reclaimed_at: float | None = None

    @property
    def id(self) -> str:
        """The instance's id."""
        return self.launch.instance_id

    def has_tag(self, key: str, value: str) -> bool:
        """Whether the instance carries this tag."""
        return any(tag["key"] == key and tag["value"] == value for tag in self.instance.get_tags())

    def enter(self, state: State, code: str = "", message: str = "") -> None:
        """Show the state, and the reason of it, on moto's instance."""
        self.state = state
        self.instance._state.name = state
        self.instance._state.code = STATE_CODES[state]
        self.instance._reason = message
        self.instance.state_reason.code = code
        self.instance.state_reason.message = message

    def console(self) -> bytes:
        """The tail of the serial console; what it was at the end once the machine is gone."""
        if self.machine is not None:
            self.last_console = self.machine.console()[-CONSOLE_BYTES:]
        return self.last_console

    def boot(self) -> None:
        """Start booting in the background."""
        self._do("boot", self._boot)

    def halt(self) -> None:
        """Start halting in the background, after what is under way."""
        self._do("halt", self._halt)

    def stop(self) -> None:
        """Start halting in the background, with the disk kept where the kind of machine can."""
        self._do("stop", self._stop)

    def reboot(self) -> None:
        """Start rebooting in the background."""
        self._do("reboot", self._reboot)

    @property
    def settled(self) -> bool:
        """Whether nothing is under way in the background."""
        return self.work is None or self.work.done

    def _do(self, name: str, action: Callable[[], None]) -> None:
        self.work = Task(f"{name} {self.id}", action, self.work)

    def _boot(self) -> None:
        self.machine = self.hypervisor.boot(self.launch)

    def _halt(self) -> None:
        machine = self.machine
        if machine is not None:
            machine.halt()
            self.console()

    def _stop(self) -> None:
        if isinstance(self.machine, Stoppable):
            self.machine.stop()
            self.console()
        else:
            self._halt()

    def _reboot(self) -> None:
        if self.machine is not None:
            self.machine.reboot()
