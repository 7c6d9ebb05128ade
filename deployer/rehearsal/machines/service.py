"""Runs one unit as systemd would: start, restart with a limit, stop with patience, nothing left behind."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from deployer.clock import SystemClock
from deployer.rehearsal.machines import processes
from deployer.rehearsal.machines.units import Unit

State = Literal["inactive", "active", "activating", "deactivating", "failed"]


@dataclass(frozen=True)
class Surroundings:
    """What a service gets from its machine.

    argv, environment: the command and complete environment to run it with. folder: its working directory.
    log: file for its output. scope: see processes.SCOPE. say: prints a line on the console.
    stop_post: run in the same way whenever the main process has ended by itself; empty for nothing.
    """

    argv: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    log: Path
    scope: str
    say: Callable[[str], None]
    stop_post: Sequence[str] = ()


class Service:
    """One unit. start returns at once for a simple service, after the end for a oneshot. stop may be called twice."""

    def __init__(self, unit: Unit, surroundings: Surroundings) -> None:
        self.unit = unit
        self.state: State = "inactive"
        self.exits: list[int] = []
        self._surroundings = surroundings
        self._clock = SystemClock()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._starts: deque[float] = deque(maxlen=max(1, unit.start_limit[0]))

    @property
    def pid(self) -> int | None:
        """Process id of the main process while it runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    @property
    def runs(self) -> bool:
        """Whether it was started and has not ended for good."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> bool:
        """Start it unless it runs. False when it could not be started, a oneshot failed, or stop came first."""
        with self._lock:
            if not self.runs:
                if not self._spawn():
                    return False
                self._thread = threading.Thread(target=self._watch, name=self.unit.name, daemon=True)
                self._thread.start()
        if self.unit.oneshot and self._thread is not None:
            self._thread.join()
            return self.state != "failed"
        return True

    def stop(self) -> None:
        """SIGTERM, TimeoutStopSec, SIGKILL; returns when no process of the service is left. It never starts again."""
        self._stopping.set()
        scope = self._surroundings.scope
        with self._lock:
            if self.state in ("active", "activating"):
                self.state = "deactivating"
        if self.unit.kill_all:
            processes.end(scope, patience=self.unit.stop_seconds)
        else:
            self._end_main()
            processes.kill(scope)
        if self._thread is not None:
            self._thread.join()
        if self.state == "deactivating":
            self.state = "inactive"

    def _end_main(self) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(self.unit.stop_seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def _spawn(self) -> bool:
        if self._stopping.is_set():
            return False
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
        assert self._process is not None
        while True:
            status = self._process.wait()
            self.exits.append(status)
            if self._stopping.is_set():
                return
            # What the main process leaves behind goes with it, as systemd empties a service's cgroup.
            patience = self.unit.stop_seconds if self.unit.kill_all else 0.0
            processes.end(self._surroundings.scope, patience=patience)
            self._after()
            if not self._again(status):
                return

    def _after(self) -> None:
        around = self._surroundings
        if around.stop_post:
            with suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(
                    around.stop_post,
                    env=dict(around.environment),
                    cwd=around.folder,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=self.unit.stop_seconds,
                    check=False,
                )

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
        with self._lock:
            return self._spawn()


def _told(status: int) -> str:
    if status < 0:
        return f"code=killed, status={-status}/{signal.Signals(-status).name.removeprefix('SIG')}"
    return f"code=exited, status={status}"
