"""One booted machine, from power on to halt."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

from deployer.clock import Clock
from deployer.rehearsal.machines.base import MachineState
from deployer.rehearsal.machines.booted.nspawn import RESTART, Container, forget

#: How long a machine may take to shut down before its power is cut, seconds.
SHUTDOWN_SECONDS = 20.0
#: And to shut down for a reboot, which EC2 enforces after a few minutes.
REBOOT_SECONDS = 60.0
_FIRST_PROCESS_SECONDS = 5.0
#: How long a shutdown is let alone before it is looked at.
_PATIENCE_SECONDS = 1.0
_POLL = 0.05


class BootedMachine:
    """Power it on once; halt is for good and may be called twice, by several threads too.

    released: called once when it is over, to take its network away.
    """

    def __init__(self, container: Container, clock: Clock, released: Callable[[], None]) -> None:
        self.container = container
        self._clock = clock
        self._released = released
        self._state: MachineState = "booting"
        self._process: subprocess.Popen[bytes] | None = None
        self._boots = 0
        self._cut = False
        self._changed = threading.Condition()
        self._text: bytes | None = None

    @property
    def state(self) -> MachineState:
        """Running from the moment its systemd is started, as an instance is long before it can be used."""
        return self._state

    def console(self) -> bytes:
        """Everything its serial console has shown, of all boots, also after it was halted."""
        text = self._text
        if text is not None:
            return text
        try:
            return self.container.console.read_bytes()
        except FileNotFoundError:
            return self._text or b""

    def power_on(self) -> None:
        """Start it and watch it; it goes on booting by itself."""
        self._process = self.container.start()
        self._state = "running"
        threading.Thread(target=self._watch, name=f"machine {self.container.name}", daemon=True).start()

    def halt(self) -> None:
        """Shut it down, or cut its power after a while, and take everything of it away; returns when that is done."""
        with self._changed:
            process = self._process
            if self._state in ("booting", "running"):
                self._state = "halting"
                if process is not None:
                    process.terminate()
        deadline = self._clock.monotonic() + SHUTDOWN_SECONDS
        while not self._halted_within(_PATIENCE_SECONDS):
            # One that has only begun to boot does not hear that it is to stop.
            if self._clock.monotonic() > deadline or not self._hears():
                self.container.group.kill()

    def reboot(self) -> None:
        """Press the button: its systemd shuts down and boots again on the same disk; returns when it boots.

        A machine that does not is cut off and started.
        """
        with self._changed:
            if self._state != "running":
                return
            boots = self._boots
        self._press_reset()
        with self._changed:
            again = self._changed.wait_for(lambda: self._boots > boots or self._state == "halted", REBOOT_SECONDS)
        if not again:
            self._cut = True
            self.container.group.kill()

    def _watch(self) -> None:
        """Start it again as often as it asks for that; take it away when it is off."""
        while True:
            assert self._process is not None
            status = self._process.wait()
            with self._changed:
                if self._state == "halting" or not (status == RESTART or self._cut):
                    break
                self._cut = False
                try:
                    self._process = self.container.start()
                except OSError:
                    break
                self._boots += 1
                self._changed.notify_all()
        self._dismantle()

    def _dismantle(self) -> None:
        self.container.group.remove(self._clock)
        forget(self.container.name)
        self._released()
        self._text = self.container.console.read_bytes()
        shutil.rmtree(self.container.console.parent, ignore_errors=True)
        with self._changed:
            self._state = "halted"
            self._changed.notify_all()

    def _halted_within(self, seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._state == "halted", seconds)

    def _hears(self) -> bool:
        """Whether the first process takes the signal to shut down, which a system does soon after it began."""
        return any(_takes(pid, signal.SIGRTMIN + 3) for pid in self.container.group.processes() if _is_init(pid))

    def _press_reset(self) -> None:
        """What ctrl-alt-del does to a system. One that was just powered on has no first process for a moment."""
        deadline = self._clock.monotonic() + _FIRST_PROCESS_SECONDS
        while self._clock.monotonic() < deadline:
            first = [pid for pid in self.container.group.processes() if _is_init(pid)]
            for pid in first:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGINT)
            if first:
                return
            self._clock.sleep(_POLL)


def _is_init(pid: int) -> bool:
    """Whether a process is the first one of a process namespace inside ours."""
    numbers = _status(pid, "NSpid")
    return len(numbers) == 2 and numbers[-1] == "1"


def _takes(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal or reads it from a descriptor, for which it is blocked."""
    masks = [int(mask, 16) for name in ("SigCgt", "SigBlk") for mask in _status(pid, name)]
    return any(mask >> (number - 1) & 1 for mask in masks)


def _status(pid: int, name: str) -> list[str]:
    """The words of one line of a process's status; none when it is gone."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith(f"{name}:"):
                return line.split()[1:]
    return []
