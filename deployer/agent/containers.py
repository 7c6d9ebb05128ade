"""The docker runtime: the same supervision over a container that runs in the foreground."""

from __future__ import annotations

import os
import shutil
import subprocess

from .config import Config
from .console import Phase
from .stop import Stop

NAME = "deployer-engine"
#: The engine's user in the container; the key file belongs to it.
USER_ID = 10001
_TRIES = 4
_KEPT_LINES = 40


def _run(stop: Stop, phase: Phase, command: str) -> tuple[int, list[str]]:
    """(exit code, last output lines) of a command whose words are separated by spaces; ended when we are stopped."""
    with subprocess.Popen(command.split(" "), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child:
        lines: list[str] = []
        for line in child.stdout or ():
            lines = [*lines[-_KEPT_LINES:], line]
            phase.progress(line)
            if stop.asked:
                child.terminate()
        code = child.wait()
    stop.check()
    return code, lines


def prepare(config: Config, phase: Phase, stop: Stop) -> list[str]:
    """A working docker, installed from the distribution if need be; the command that runs the engine."""
    if not config.image or " " in config.image:
        raise phase.failure("image_pull", "the runtime is docker and no image is named")
    lines: list[str] = []
    if shutil.which("docker") is None:
        phase.note("installing docker")
        if shutil.which("dnf"):
            _, lines = _run(stop, phase, "dnf install -y -q docker")
        elif shutil.which("apt-get"):
            _run(stop, phase, "apt-get update -q")
            _, lines = _run(stop, phase, "apt-get install -y -q docker.io")
        if shutil.which("docker") is None:
            raise phase.failure("runtime_missing", "there is no docker and it cannot be installed", lines)
        _run(stop, phase, "systemctl enable --now docker")
    code, lines = _run(stop, phase, "docker version")
    if code:
        raise phase.failure("runtime_missing", "the docker daemon does not answer", lines)
    # Left by a killed agent; there may be none.
    _run(stop, phase, "docker rm --force " + NAME)
    return run_command(config)


def run_command(config: Config) -> list[str]:
    """`docker run` in the foreground, so that its exit code is the engine's. The agent's log is the only log."""
    mount = "type=bind,readonly,src=%s,dst=%s"
    options = (
        "docker run --rm --name %s --network host --user %d:%d --cap-drop ALL --security-opt no-new-privileges"
        " --pids-limit 4096 --log-driver none --stop-timeout 10" % (NAME, USER_ID, USER_ID)
    )
    return [
        *options.split(),
        "--mount",
        mount % (config.weights_dir, config.weights_dir),
        "--mount",
        mount % (config.key_file, config.key_file),
        *(("--gpus", "all") if config.expects_gpu else ()),
        str(config.image),
        *config.argv,
    ]


def pull(config: Config, phase: Phase, stop: Stop) -> None:
    """The image on this machine. Raises AgentFailure image_pull."""
    os.chown(config.key_file, USER_ID, USER_ID)
    phase.result(detail={"image": config.image})
    code, _ = _run(stop, phase, "docker image inspect --format {{.Id}} %s" % config.image)
    lines: list[str] = []
    for number in range(_TRIES):
        if code == 0:
            return
        code, lines = _run(stop, phase, "docker pull -q %s" % config.image)
        if code:
            stop.pause(config.retry_s * 2**number)
    raise phase.failure("image_pull", "docker pull %s failed %d times" % (config.image, _TRIES), lines)
