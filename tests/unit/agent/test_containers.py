"""The docker runtime against a `docker` command that does what the real client does for this agent."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from deployer.agent.processes import start_mark
from tests.unit.agent.box import Box
from tests.unit.agent.engines import serving
from tests.unit.agent.servers import Metadata

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the key file is given to the container's user by root")

IMAGE = "registry.example/llama@sha256:00"
#: `run` becomes the engine itself, as a foreground client that passes signals and the exit code on.
DOCKER = r"""
import os, sys
state, engine = __STATE__, __ENGINE__
with open(state + "/calls", "a") as log:
    log.write(" ".join(sys.argv[1:]) + "\n")
words = sys.argv[1:]
if words[0] == "--config":
    words = words[2:]
if words[0] == "login":
    given = sys.stdin.read()
    open(state + "/password", "w").write(given)
    if given != "from-ssm-0123456789":
        print("Error response from daemon: unauthorized for", given)
        sys.exit(1)
if words[0] == "version":
    sys.exit(__VERSION__)
if words[:2] == ["image", "inspect"]:
    sys.exit(0 if os.path.exists(state + "/image") else 1)
if words[0] == "pull":
    if not os.path.exists(state + "/reachable"):
        print("Error: manifest unknown")
        sys.exit(1)
    open(state + "/image", "w").close()
if words[-1] == "--list-devices":
    print(open(state + "/devices").read(), end="")
    sys.exit(0)
if words[0] == "run":
    os.execv(engine, [engine, *words[words.index(__IMAGE__) + 1:]])
"""


@pytest.fixture
def docker(box: Box) -> Box:
    box.config["runtime"] = "docker"
    box.config["engine"]["image"] = IMAGE
    (box.root / "reachable").touch()
    install(box)
    return box


def install(box: Box, version: int = 0, image: str = IMAGE) -> None:
    engine = box.program(serving(), "the-engine")
    values = {"STATE": str(box.root), "ENGINE": str(engine), "VERSION": version, "IMAGE": image}
    text = DOCKER
    for name, value in values.items():
        text = text.replace(f"__{name}__", repr(value))
    box.program(text, "docker")


def calls(box: Box) -> list[str]:
    return (box.root / "calls").read_text().splitlines()


def test_an_engine_in_a_container(docker: Box) -> None:
    agent = docker.start()
    docker.said("ready", "done")
    assert docker.lines("image", "done")[0]["detail"] == {"image": IMAGE}
    run = next(call for call in calls(docker) if call.startswith("run "))
    for option in (
        "--name deployer-engine", "--network host", "--user 10001:10001", "--cap-drop ALL",
        "--security-opt no-new-privileges", "--log-driver none", "--stop-timeout 10",
        f"type=bind,readonly,src={docker.root}/var/lib/deployer/weights,", f"src={docker.root}/run/deployer/api-key,",
    ):  # fmt: skip
        assert option in run
    assert "--gpus" not in run
    key = docker.root / "run/deployer/api-key"
    assert key.stat().st_uid == 10001
    engine = docker.engine_pid()
    agent.send_signal(signal.SIGTERM)
    assert agent.wait(10) == 0
    assert start_mark(engine) is None
    assert calls(docker)[-1] == "rm --force deployer-engine"


def test_an_image_that_is_here_is_not_pulled(docker: Box) -> None:
    (docker.root / "image").touch()
    docker.start()
    docker.said("ready", "done")
    assert not [call for call in calls(docker) if " pull " in call or " login " in call]


def test_an_image_that_cannot_be_pulled(docker: Box) -> None:
    (docker.root / "reachable").unlink()
    assert docker.run() == 1
    failure = docker.failure()
    assert (failure["phase"], failure["code"]) == ("image", "image_pull")
    assert failure["log"] == ["Error: manifest unknown"]


@pytest.fixture
def ecr(docker: Box) -> Iterator[Metadata]:
    """The image is in ECR, and the instance has a role."""
    image = "111122223333.dkr.ecr.cn-northwest-1.amazonaws.com.cn/deployer/llama-cpp:cuda@sha256:" + "0" * 64
    docker.config["engine"]["image"] = image
    install(docker, image=image)
    with Metadata() as server:
        docker.environ.update(AWS_EC2_METADATA_SERVICE_ENDPOINT=server.url, AWS_ENDPOINT_URL_ECR=server.url)
        yield server


def test_a_pull_from_ecr_logs_in_with_the_role(docker: Box, ecr: Metadata) -> None:
    docker.start()
    docker.said("ready", "done")
    place = f"--config {docker.root}/run/deployer"
    pulls = [call for call in calls(docker) if call.startswith("--config")]
    assert pulls == [
        f"{place} login -u AWS --password-stdin 111122223333.dkr.ecr.cn-northwest-1.amazonaws.com.cn",
        f"{place} pull -q {docker.config['engine']['image']}",
    ]
    assert (docker.root / "password").read_text() == ecr.value
    assert ecr.value not in (docker.root / "calls").read_text()


def test_a_role_that_is_late_is_waited_for(docker: Box, ecr: Metadata) -> None:
    ecr.problem, ecr.problem_times = "AccessDeniedException", 3
    docker.start()
    docker.said("ready", "done")


def test_ecr_that_refuses_the_role(docker: Box, ecr: Metadata) -> None:
    ecr.problem = "AccessDeniedException"
    assert docker.run() == 1
    failure = docker.failure()
    assert (failure["phase"], failure["code"]) == ("image", "image_pull")
    assert failure["log"] == ["ecr refuses []: AccessDeniedException no"]


def test_a_registry_that_refuses_the_token_does_not_tell_it(docker: Box, ecr: Metadata) -> None:
    ecr.value = "another-token-0123456789"
    assert docker.run() == 1
    assert docker.failure()["code"] == "image_pull"
    assert docker.failure()["log"] == ["Error response from daemon: unauthorized for [redacted]"]


def test_no_docker_and_no_way_to_install_it(docker: Box) -> None:
    (docker.root / "bin/docker").unlink()
    assert docker.run() == 1
    assert (docker.failure()["phase"], docker.failure()["code"]) == ("runtime", "runtime_missing")


def test_docker_is_installed_from_the_distribution(docker: Box) -> None:
    real = docker.root / "bin/docker"
    hidden = real.rename(docker.root / "docker")
    docker.program(f"import os, sys; os.rename({str(hidden)!r}, {str(real)!r})", "dnf")
    docker.program("", "systemctl")
    docker.start()
    docker.said("ready", "done")
    assert docker.lines("runtime", "progress")[0]["message"] == "installing docker"


def test_a_daemon_that_does_not_answer(docker: Box) -> None:
    install(docker, version=1)
    assert docker.run() == 1
    assert docker.failure()["code"] == "runtime_missing"


@pytest.mark.parametrize("image", [None, "", "two words"])
def test_no_usable_image(docker: Box, image: str | None) -> None:
    docker.config["engine"]["image"] = image
    assert docker.run() == 1
    assert docker.failure()["code"] == "image_pull"


class TestDriver:
    @pytest.fixture(autouse=True)
    def gpu(self, docker: Box) -> None:
        docker.config["engine"]["expects_gpu"] = True

    def test_missing(self, docker: Box) -> None:
        assert docker.run() == 1
        assert (docker.failure()["phase"], docker.failure()["code"]) == ("driver", "driver_missing")

    def test_not_loaded(self, docker: Box) -> None:
        docker.program("import sys; print('NVIDIA-SMI has failed'); sys.exit(9)", "nvidia-smi")
        assert docker.run() == 1
        assert docker.failure()["log"] == ["NVIDIA-SMI has failed"]

    def test_the_bus_tells_a_missing_driver_from_a_missing_gpu(self, docker: Box) -> None:
        device = docker.root / "sys/bus/pci/devices/0000:00:1e.0"
        device.mkdir(parents=True)
        (device / "vendor").write_text("0x10de\n")
        assert docker.run() == 1
        assert "1 NVIDIA devices on the PCI bus, the driver is not loaded" in docker.failure()["message"]

    def test_a_driver_that_comes_late_is_waited_for(self, docker: Box) -> None:
        docker.config["deadlines"]["driver_s"] = 30
        agent = docker.start()
        assert "waiting for the GPU driver" in docker.said("driver", "progress")["message"]
        docker.program("print('NVIDIA A10G, 580.95, 23028 MiB')", "nvidia-smi")
        docker.said("driver", "done")
        agent.kill()

    def there(self, docker: Box, devices: str) -> None:
        docker.program("print('NVIDIA A10G, 580.95, 23028 MiB')", "nvidia-smi")
        docker.program("", "nvidia-ctk")
        (docker.root / "devices").write_text("Available devices:\n" + devices)

    def test_no_toolkit(self, docker: Box) -> None:
        self.there(docker, "")
        (docker.root / "bin/nvidia-ctk").unlink()
        assert docker.run() == 1
        assert (docker.failure()["phase"], docker.failure()["code"]) == ("runtime", "driver_missing")
        assert "no nvidia-container-toolkit" in docker.failure()["message"]

    def test_an_engine_that_sees_no_gpu_is_not_started(self, docker: Box) -> None:
        self.there(docker, "  (none)\n")
        assert docker.run() == 1
        assert (docker.failure()["phase"], docker.failure()["code"]) == ("image", "driver_missing")
        assert docker.failure()["log"] == ["Available devices:", "(none)"]

    def test_there(self, docker: Box) -> None:
        self.there(docker, "  CUDA0: NVIDIA A10G (22731 MiB, 22000 MiB free)\n")
        docker.start()
        docker.said("ready", "done")
        assert docker.lines("driver", "done")[0]["detail"] == {"gpus": ["NVIDIA A10G, 580.95, 23028 MiB"]}
        device = "CUDA0: NVIDIA A10G (22731 MiB, 22000 MiB free)"
        assert docker.lines("image", "done")[0]["detail"] == {"image": IMAGE, "devices": [device]}
        assert all("--gpus all" in call for call in calls(docker) if call.startswith("run "))
