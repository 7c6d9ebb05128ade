"""A hypervisor whose machines do what a test tells them, and a clock that moves when a test says so."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass, field

from deployer.rehearsal.machines.base import MachineLaunch, MachineState


class ManualClock:
    """Stands still until `advance`."""

    def __init__(self) -> None:
        self._seconds = 1_000_000.0

    def now(self) -> float:
        return self._seconds

    def monotonic(self) -> float:
        return self._seconds

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        self._seconds += seconds


@dataclass
class ScriptedMachine:
    launch: MachineLaunch
    may_halt: threading.Event
    state: MachineState = "running"
    text: bytes = b""
    reboots: int = 0

    def console(self) -> bytes:
        return self.text

    def halt(self) -> None:
        self.may_halt.wait(20)
        self.state = "halted"
        self.text += b"reached power off\n"

    def reboot(self) -> None:
        self.reboots += 1


@dataclass
class ScriptedHypervisor:
    """Boots wait for may_boot, halts for may_halt; `broken` makes every boot fail."""

    kind: str = "scripted"
    may_boot: threading.Event = field(default_factory=threading.Event)
    may_halt: threading.Event = field(default_factory=threading.Event)
    broken: bool = False
    machines: list[ScriptedMachine] = field(default_factory=list)
    closed: bool = False
    numbers: itertools.count = field(default_factory=lambda: itertools.count(2))

    def allocate_address(self) -> str:
        return f"127.72.0.{next(self.numbers)}"

    def boot(self, launch: MachineLaunch) -> ScriptedMachine:
        self.may_boot.wait(20)
        if self.broken:
            raise RuntimeError("no room on this host")
        machine = ScriptedMachine(launch, self.may_halt)
        self.machines.append(machine)
        return machine

    def close(self) -> None:
        self.may_boot.set()
        self.may_halt.set()
        self.closed = True
