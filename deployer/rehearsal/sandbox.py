"""The sandbox's life from outside: start it in the background, find it, stop it. Loads nothing of the emulator."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_state_path

from deployer.clock import Clock, SystemClock
from deployer.errors import DeployerError
from deployer.rehearsal import statefile
from deployer.rehearsal.processes import ProcessId

#: Set to keep the sandbox's state somewhere else.
STATE_VARIABLE = "DEPLOYER_SANDBOX"
START_SECONDS = 30.0
#: Halting machines gracefully may take a while.
STOP_SECONDS = 20.0
_LOG = "server.log"


@dataclass(frozen=True)
class SandboxInfo:
    """A sandbox that runs. env: what to set to work against it. substitutions: what is not the real thing, in words."""

    pid: int
    url: str
    state_dir: Path
    machines: str
    env: dict[str, str]
    substitutions: list[str]


def default_state_dir(environ: Mapping[str, str]) -> Path:
    """Where `deployer sandbox` keeps its state: $DEPLOYER_SANDBOX, else the user's state directory."""
    chosen = environ.get(STATE_VARIABLE)
    return Path(chosen) if chosen else user_state_path("deployer") / "sandbox"


def start(
    state_dir: Path, *, machines: str = "auto", parent_pid: int | None = None, clock: Clock | None = None
) -> SandboxInfo:
    """Start a sandbox and wait until it is ready; the one that already runs there is returned as it is.

    parent_pid: it ends by itself when that process is gone. Raises DeployerError when it does not come up.
    """
    clock = clock or SystemClock()
    state_dir = state_dir.resolve()
    state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _only_one(state_dir):
        if found := read(state_dir):
            return found
        statefile.remove(state_dir)
        command = [sys.executable, "-m", "deployer.rehearsal.server", "--state-dir", str(state_dir)]
        command += ["--machines", machines]
        command += ["--parent-pid", str(parent_pid)] if parent_pid else []
        with (state_dir / _LOG).open("wb") as log:
            server = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=state_dir,
                env=_server_environment(os.environ),
            )
        return _wait_ready(state_dir, server, clock)


def read(state_dir: Path) -> SandboxInfo | None:
    """The sandbox that runs on this state directory, None when there is none. A stale file is no sandbox."""
    running = statefile.read(state_dir)
    if running is None or not running.process.alive():
        return None
    return SandboxInfo(
        running.process.pid, running.url, state_dir, running.machines, running.env, running.substitutions
    )


def stop(state_dir: Path, *, clock: Clock | None = None) -> bool:
    """Halt the machines, end the server, clean up after a crashed one; whether one was running. May be repeated."""
    clock = clock or SystemClock()
    if not state_dir.is_dir():
        return False
    state_dir = state_dir.resolve()
    with _only_one(state_dir):
        running = statefile.read(state_dir)
        was_alive = running is not None and running.process.alive()
        if running is not None and was_alive:
            _end(running.process, clock)
        statefile.remove(state_dir)
        statefile.reap(state_dir)
        return was_alive


def _end(process: ProcessId, clock: Clock) -> None:
    process.signal(signal.SIGTERM)
    if not process.wait_gone(clock, STOP_SECONDS):
        process.signal(signal.SIGKILL)
        process.wait_gone(clock, STOP_SECONDS)


def _wait_ready(state_dir: Path, server: subprocess.Popen[bytes], clock: Clock) -> SandboxInfo:
    deadline = clock.monotonic() + START_SECONDS
    while clock.monotonic() < deadline:
        found = read(state_dir)
        if found is not None and found.pid == server.pid:
            # The server outlives us on purpose; without this Python would warn about it when `server` is collected.
            server.returncode = 0
            return found
        if server.poll() is not None:
            break
        clock.sleep(0.02)
    else:
        server.kill()
        server.wait()
    tail = (state_dir / _LOG).read_text(encoding="utf-8", errors="replace").strip().splitlines()[-5:]
    raise DeployerError(
        "the sandbox did not come up: " + (tail[-1] if tail else "it printed nothing"),
        where=str(state_dir / _LOG),
        hint="pip install 'deployer[rehearsal]' brings what it needs; the log has the whole story",
    )


def _server_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Our environment without what would point the server itself, or its machines, at another AWS or a proxy."""
    dropped = ("AWS_", "MOTO_", "DEPLOYER_MIRROR_", "DEPLOYER_SET", "DEPLOYER_HOME")
    proxies = {"http_proxy", "https_proxy", "all_proxy"}
    return {k: v for k, v in environ.items() if not k.startswith(dropped) and k.lower() not in proxies}


@contextlib.contextmanager
def _only_one(state_dir: Path) -> Iterator[None]:
    """Starting and stopping exclude each other, also between processes."""
    with (state_dir / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
