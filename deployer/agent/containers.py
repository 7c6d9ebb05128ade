"""The docker runtime: the same supervision over a container that runs in the foreground."""

from __future__ import annotations

import base64
import os
import shutil

from . import gpu
from .aws import AwsError, ask
from .commands import run
from .config import Config
from .console import Phase
from .stop import Stop

NAME = "deployer-engine"
#: The engine's user in the container; the key file belongs to it.
USER_ID = 10001
_TRIES = 4
_LOGIN = "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken"


def prepare(config: Config, phase: Phase, stop: Stop) -> list[str]:
    """A working docker, installed from the distribution if need be; the command that runs the engine."""
    if not config.image or " " in config.image:
        raise phase.failure("image_pull", "the runtime is docker and no image is named")
    lines: list[str] = []
    if shutil.which("docker") is None:
        phase.note("installing docker")
        if shutil.which("dnf"):
            _, lines = run(stop, phase, "dnf install -y -q docker")
        elif shutil.which("apt-get"):
            run(stop, phase, "apt-get update -q")
            _, lines = run(stop, phase, "apt-get install -y -q docker.io")
        if shutil.which("docker") is None:
            raise phase.failure("runtime_missing", "there is no docker and it cannot be installed", lines)
        run(stop, phase, "systemctl enable --now docker")
    code, lines = run(stop, phase, "docker version")
    if code:
        raise phase.failure("runtime_missing", "the docker daemon does not answer", lines)
    if config.expects_gpu:
        gpu.toolkit(phase, stop)
    # Left by a killed agent; there may be none.
    run(stop, phase, "docker rm --force " + NAME)
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
        *(word for path in _tls(config) for word in ("--mount", mount % (path, path))),
        *(("--gpus", "all") if config.expects_gpu else ()),
        str(config.image),
        *config.argv,
    ]


def _tls(config: Config) -> list[str]:
    return [path for path in (config.tls_key, config.tls_certificate) if path]


def pull(config: Config, phase: Phase, stop: Stop) -> None:
    """The image on this machine. Raises AgentFailure image_pull."""
    for path in (config.key_file, *_tls(config)):
        os.chown(path, USER_ID, USER_ID)
    phase.result(detail={"image": config.image})
    code, lines = run(stop, phase, "docker image inspect --format {{.Id}} %s" % config.image)
    for number in range(_TRIES):
        if code:
            code, lines = _pull(config, phase, stop)
        if code and number + 1 < _TRIES:
            stop.pause(config.retry_s * 2**number)
    if code:
        raise phase.failure("image_pull", "docker pull %s failed %d times" % (config.image, _TRIES), lines)
    if config.expects_gpu:
        gpu.prove(config, phase, stop)


def _pull(config: Config, phase: Phase, stop: Stop) -> tuple[int, list[str]]:
    """One try. ECR lets in whom the instance's role allows; the login lies beside the API key, in memory."""
    image = str(config.image)
    registry = image.split("/")[0]
    docker = "docker --config %s " % os.path.dirname(config.key_file)
    if ".dkr.ecr." in registry:
        endpoint = "https://api." + registry.split(".dkr.")[1]
        try:
            answer = ask("ecr", endpoint, registry.split(".")[3], _LOGIN, {})
        except AwsError as error:
            return 1, [str(error)]
        token = answer["authorizationData"][0]["authorizationToken"]
        password = base64.b64decode(token).decode().split(":")[1]
        phase.console.hide(password)
        code, lines = run(stop, phase, docker + "login -u AWS --password-stdin " + registry, password)
        if code:
            return code, lines
    return run(stop, phase, docker + "pull -q " + image)
