"""Runs one unit as systemd would: start, restart with a limit, stop with patience, nothing left behind."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from deployer.clock import Clock
from deployer.rehearsal.machines import processes
from deployer.rehearsal.machines.units import Unit

State = Literal["inactive", "active", "activating", "deactivating", "failed"]


@dataclass(frozen=True)
class Surroundings:
    """What a service gets from its machine.

    argv, environment: the command and complete environment to run it with. folder: its working directory.
    log: file for its output. scope: see processes.SCOPE. say: prints a line on the console.
    """

    argv: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    log: Path
    scope: str
    say: Callable[[str], None]


class Service:
    """One unit. start returns at once for a simple service, after the end for a oneshot. stop may be called twice."""

    def __init__(self, unit: Unit, surroundings: Surroundings, clock: Clock) -> None:
        self.unit = unit
        self.state: State = "inactive"
        self.exits: list[int] = []
        self._surroundings = surroundings
        self._clock = clock
        self._stopping = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._starts: deque[float] = deque(maxlen=max(1, unit.start_limit[0]))

    @property
    def pid(self) -> int | None:
        """Process id of the main process while it runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def start(self) -> bool:
        """Start it unless it runs. False when the program could not be started, or a oneshot failed."""
        if self._thread is not None and self._thread.is_alive():
            return True
        self._stopping.clear()
        self._starts.clear()
        if not self._spawn():
            return False
        self._thread = threading.Thread(target=self._watch, name=self.unit.name, daemon=True)
        self._thread.start()
        if self.unit.oneshot:
            self._thread.join()
            return self.state != "failed"
        return True

    def stop(self) -> None:
        """SIGTERM, TimeoutStopSec, SIGKILL; returns when no process of the service is left."""
        self._stopping.set()
        if self.state in ("active", "activating"):
            self.state = "deactivating"
        scope, now = self._surroundings.scope, self._clock.monotonic
        if self.unit.kill_all:
            processes.send(scope, signal.SIGTERM)
        elif self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        processes.wait_until_empty(scope, self.unit.stop_seconds, now)
        processes.kill(scope, clock=now)
        if self._thread is not None:
            self._thread.join()
        if self.state == "deactivating":
            self.state = "inactive"

    def _spawn(self) -> bool:
        around = self._surroundings
        self._starts.append(self._clock.monotonic())
        around.log.parent.mkdir(parents=True, exist_ok=True)
        try:
            with around.log.open("ab") as log:
                self._process = subprocess.Popen(
                    around.argv,
                    env=dict(around.environment),
                    cwd=around.folder,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
        except OSError as error:
            self.state = "failed"
            around.say(f"[FAILED] {self.unit.name}: {error.strerror}: {around.argv[0]}")
            return False
        self.state = "active"
        around.say(f"[  OK  ] Started {self.unit.name}.")
        return True

    def _watch(self) -> None:
        while True:
            assert self._process is not None
            status = self._process.wait()
            self.exits.append(status)
            # What the main process leaves behind goes with it, as systemd empties a service's cgroup.
            if not self._stopping.is_set():
                processes.end(self._surroundings.scope, patience=self.unit.stop_seconds, clock=self._clock.monotonic)
            if self._stopping.is_set() or not self._again(status):
                return

    def _again(self, status: int) -> bool:
        """Settle what an end means; whether the service was started again."""
        unit, say = self.unit, self._surroundings.say
        clean = status == 0 or status in unit.success
        if not clean:
            say(f"{unit.name}: Main process exited, {_told(status)}")
        wanted = unit.restart == "always" or unit.restart == ("on-success" if clean else "on-failure")
        self.state = "inactive" if clean else "failed"
        if not wanted:
            return False
        burst, interval = unit.start_limit
        if len(self._starts) >= burst > 0 and self._clock.monotonic() - self._starts[0] < interval:
            self.state = "failed"
            say(f"[FAILED] {unit.name}: Start request repeated too quickly.")
            return False
        self.state = "activating"
        if self._stopping.wait(unit.restart_seconds):
            return False
        return self._spawn()


def _told(status: int) -> str:
    if status < 0:
        return f"code=killed, status={-status}/{signal.Signals(-status).name.removeprefix('SIG')}"
    return f"code=exited, status={status}"
