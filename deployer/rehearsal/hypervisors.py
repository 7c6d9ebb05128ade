"""Which kind of machine the instances get."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

from deployer.errors import UsageError
from deployer.rehearsal.guard import guarded
from deployer.rehearsal.machines.base import Hypervisor, MachineLaunch, MachineState

#: `auto` is the truest kind this machine allows.
KINDS = ("auto", "booted", "process", "none")


@dataclass
class AbsentMachine:
    """A machine that is only a name: for tests of the API alone."""

    state: MachineState = "running"

    def console(self) -> bytes:
        """Nothing is ever printed."""
        return b""

    def halt(self) -> None:
        """There is nothing to end."""
        self.state = "halted"

    def reboot(self) -> None:
        """There is nothing to start again."""


class NoMachines:
    """Instances without machines: they come up and print nothing."""

    kind = "none"

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def allocate_address(self) -> str:
        """Addresses of a network for documentation: nothing answers there."""
        number = next(self._numbers)
        return f"198.51.{100 + number // 250 % 100}.{number % 250 + 1}"

    def boot(self, launch: MachineLaunch) -> AbsentMachine:
        """A machine that is at once running."""
        return AbsentMachine()

    def close(self) -> None:
        """Nothing to clean up."""


def truest(state_dir: Path) -> tuple[str, str | None]:
    """The truest kind this host allows, and why it is not `booted` when it is not."""
    from deployer.rehearsal.machines.booted.host import available

    reason = available(state_dir)
    return ("process", reason) if reason else ("booted", None)


def choose(kind: str, *, state_dir: Path, cloud_url: str, guard_url: str, ssh_port: int | None) -> Hypervisor:
    """The hypervisor of a kind, `auto` being the truest. Raises UsageError on a kind that does not exist.

    guard_url: the network guard, for the kind whose machines share this computer's network.
    Raises RefusedError on one that this host does not allow.
    """
    match kind:
        case "none":
            return NoMachines()
        case "auto":
            kind = truest(state_dir)[0]
            return choose(kind, state_dir=state_dir, cloud_url=cloud_url, guard_url=guard_url, ssh_port=ssh_port)
        case "booted":
            from deployer.rehearsal.machines.booted.hypervisor import BootedHypervisor

            return BootedHypervisor(state_dir, cloud_url=cloud_url)
        case "process":
            from deployer.rehearsal.machines.process import ProcessHypervisor

            env = guarded(guard_url)
            return ProcessHypervisor(state_dir, cloud_url=cloud_url, ssh_port=ssh_port, engine_env=env)
        case _:
            raise UsageError(f"unknown kind of machine {kind!r}", hint="one of " + ", ".join(KINDS))
