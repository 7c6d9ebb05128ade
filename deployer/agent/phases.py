"""The phases before the engine, except the weights."""

from __future__ import annotations

import fcntl
import glob
import os
import shutil
from typing import IO, Any

from . import api_key, certificate, containers
from .config import Config
from .console import Phase
from .processes import end_leftover
from .stop import Stop

#: First the one that ssh clients pin.
_KEY_ORDER = ("ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa")


def boot(config: Config, phase: Phase, _stop: Stop) -> IO[Any]:
    """Be the only agent, end what a killed one left, tell the host keys. The open lock file, to be kept."""
    os.makedirs(config.state, exist_ok=True)
    lock = open(config.state + "/agent.lock", "a")  # noqa: SIM115 - held as long as the process lives
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise phase.failure("agent_error", "another agent is at work in %s" % config.state) from None
    leftover = end_leftover(config.pid_file)
    if leftover is not None:
        phase.note("ended the engine of an earlier agent (pid %d)" % leftover)
    phase.result(host_keys=host_keys(config.root), pid=os.getpid())
    return lock


def host_keys(root: str) -> list[str]:
    """`type base64` of this machine's ssh host keys, ed25519 first."""
    keys = []
    for path in glob.glob(root + "/etc/ssh/ssh_host_*_key.pub"):
        with open(path, encoding="utf-8") as stream:
            words = stream.read().split()[:2]
        if words[0] in _KEY_ORDER:
            keys.append(words)
    return [" ".join(words) for words in sorted(keys, key=lambda words: _KEY_ORDER.index(words[0]))]


def runtime(config: Config, phase: Phase, stop: Stop) -> tuple[list[str], str]:
    """(the engine's full command, the API key). Raises AgentFailure runtime_missing, key_rejected."""
    if config.docker:
        command = containers.prepare(config, phase, stop)
    else:
        program = shutil.which(config.command[0])
        if program is None:
            text = "there is no executable %s on PATH %s" % (config.command[0], os.environ.get("PATH"))
            raise phase.failure("runtime_missing", text)
        phase.result(detail={"program": program})
        command = [program, *config.command[1:], *config.argv]
    phase.result(certificate=certificate.obtain(config, phase))
    return command, api_key.obtain(config, phase, stop)


def image(config: Config, phase: Phase, stop: Stop) -> None:
    """The container image on this machine. Raises AgentFailure image_pull."""
    if config.docker:
        containers.pull(config, phase, stop)
    else:
        phase.skip("the engine is a native program")
