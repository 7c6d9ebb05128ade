"""The docker runtime: the same supervision over a container that runs in the foreground."""

from __future__ import annotations

import os
import shutil
import subprocess

from .config import Config
from .console import Phase
from .protocol import AgentFailure
from .stop import Stop
from .text import last_lines

NAME = "deployer-engine"
#: The engine's user in the container; the key file belongs to it.
USER_ID = 10001
_TRIES = 4


def _run(stop: Stop, phase: Phase, *command: str) -> tuple[int, list[str]]:
    """(exit code, last output lines) of a command; ended when the agent is stopped."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        lines: list[str] = []
        assert child.stdout is not None
        for raw in child.stdout:
            lines = [*lines[-40:], raw.decode("utf-8", "replace")]
            phase.progress(last_lines(lines)[-1])
            if stop.asked:
                child.terminate()
        code = child.wait()
    stop.check()
    return code, lines


def prepare(config: Config, phase: Phase, stop: Stop) -> tuple[str, ...]:
    """A working docker, installed from the distribution if need be; the command that runs the engine."""
    if shutil.which("docker") is None:
        manager = next((name for name in ("dnf", "apt-get") if shutil.which(name)), None)
        if manager is None:
            raise AgentFailure(phase.name, "runtime_missing", "there is no docker and neither dnf nor apt-get")
        phase.note("installing docker with %s" % manager)
        if manager == "apt-get":
            _run(stop, phase, "apt-get", "update", "-q")
        package = "docker" if manager == "dnf" else "docker.io"
        code, lines = _run(stop, phase, manager, "install", "-y", "-q", package)
        if code != 0:
            raise AgentFailure(phase.name, "runtime_missing", "docker cannot be installed", lines)
        _run(stop, phase, "systemctl", "enable", "--now", "docker")
    code, lines = _run(stop, phase, "docker", "version", "--format", "{{.Server.Version}}")
    if code != 0:
        raise AgentFailure(phase.name, "runtime_missing", "the docker daemon does not answer", lines)
    _run(stop, phase, "docker", "rm", "--force", NAME)
    phase.result(detail={"docker": last_lines(lines)[-1] if lines else ""})
    return run_command(config)


def run_command(config: Config) -> tuple[str, ...]:
    """`docker run` in the foreground, so that its exit code is the engine's."""
    weights, key = config.weights.dir, config.key_file
    return (
        "docker", "run", "--rm", "--name", NAME,
        "--network", "host",
        "--user", "%d:%d" % (USER_ID, USER_ID),
        "--cap-drop", "ALL",
        "--security-opt", "no-new-privileges",
        "--pids-limit", "4096",
        "--log-driver", "none",
        "--stop-timeout", "10",
        "--mount", "type=bind,readonly,src=%s,dst=%s" % (weights, weights),
        "--mount", "type=bind,readonly,src=%s,dst=%s" % (key, key),
        *(("--gpus", "all") if config.engine.expects_gpu else ()),
        str(config.engine.image),
        *config.engine.argv,
    )  # fmt: skip


def pull(config: Config, phase: Phase, stop: Stop) -> None:
    """The image on this machine. Raises AgentFailure image_pull."""
    image = config.engine.image
    if not image:
        raise AgentFailure(phase.name, "image_pull", "the runtime is docker and no image is named")
    os.chown(config.key_file, USER_ID, USER_ID)
    code, _ = _run(stop, phase, "docker", "image", "inspect", "--format", "{{.Id}}", image)
    if code == 0:
        phase.result(message="already here", detail={"image": image})
        return
    for number in range(_TRIES):
        code, lines = _run(stop, phase, "docker", "pull", image)
        if code == 0:
            phase.result(detail={"image": image})
            return
        stop.pause(config.retry_s * 2**number)
    raise AgentFailure(phase.name, "image_pull", "docker pull %s failed %d times" % (image, _TRIES), lines)
