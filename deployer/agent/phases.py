"""The phases before the engine, in their order."""

from __future__ import annotations

import fcntl
import glob
import os
import platform
import shutil
import subprocess
from typing import IO, Any

from . import containers
from .config import Config
from .console import Phase
from .engine import EngineProcess
from .protocol import AgentFailure
from .stop import Stop

#: First the one that ssh clients pin.
_KEY_ORDER = ("ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa")


def boot(config: Config, phase: Phase, process: EngineProcess) -> IO[Any]:
    """Be the only agent, end what a killed one left, tell the host keys. The open lock file, to be kept."""
    os.makedirs(config.state, exist_ok=True)
    lock = open(os.path.join(config.state, "agent.lock"), "a")  # noqa: SIM115 - held as long as the process lives
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise AgentFailure(phase.name, "agent_error", "another agent is at work in %s" % config.state) from None
    leftover = process.end_leftover()
    if leftover is not None:
        phase.note("ended the engine of an earlier agent (pid %d)" % leftover)
    phase.result(
        host_keys=host_keys(config.root) or None,
        pid=os.getpid(),
        detail={"machine": platform.machine(), "cpus": os.cpu_count(), "python": platform.python_version()},
    )
    return lock


def host_keys(root: str) -> list[str]:
    """`type base64` of this machine's ssh host keys, ed25519 first."""
    keys = []
    for path in glob.glob(root + "/etc/ssh/ssh_host_*_key.pub"):
        with open(path, encoding="utf-8") as stream:
            words = stream.read().split()
        if len(words) >= 2 and words[0] in _KEY_ORDER:
            keys.append(words[:2])
    return [" ".join(words) for words in sorted(keys, key=lambda words: _KEY_ORDER.index(words[0]))]


def find_program(config: Config, phase: Phase) -> tuple[str, ...]:
    """The native engine's full command. Raises AgentFailure runtime_missing."""
    program = config.engine.command[0]
    path = shutil.which(program)
    if path is None:
        where = "" if os.path.isabs(program) else " on PATH %s" % os.environ.get("PATH", "")
        raise AgentFailure(phase.name, "runtime_missing", "there is no executable %s%s" % (program, where))
    phase.result(detail={"program": path})
    return (path, *config.engine.command[1:], *config.engine.argv)


def driver(config: Config, phase: Phase) -> None:
    """A GPU that answers, when a container is to use it. Raises AgentFailure driver_missing."""
    if not config.engine.expects_gpu:
        phase.skip("no GPU is expected")
    elif config.runtime == "process":
        phase.skip("a native engine finds its own devices")
    else:
        query = ("nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader")
        try:
            answer = subprocess.run(query, capture_output=True, text=True, timeout=60, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise AgentFailure(phase.name, "driver_missing", "nvidia-smi: %s" % error) from None
        lines = answer.stdout.splitlines()
        if answer.returncode != 0 or not lines:
            text = "nvidia-smi ended with exit code %d" % answer.returncode
            raise AgentFailure(phase.name, "driver_missing", text, lines + answer.stderr.splitlines())
        phase.result(detail={"gpus": lines})


def runtime(config: Config, phase: Phase, stop: Stop) -> tuple[str, ...]:
    """What runs the engine is there; the engine's full command. Raises AgentFailure runtime_missing."""
    return find_program(config, phase) if config.runtime == "process" else containers.prepare(config, phase, stop)


def image(config: Config, phase: Phase, stop: Stop) -> None:
    """The container image on this machine. Raises AgentFailure image_pull."""
    if config.runtime == "process":
        phase.skip("the engine is a native program")
    else:
        containers.pull(config, phase, stop)
