"""The x86 image, whole: built by `deployer image build` from the rendered Dockerfile, tried, pushed to ECR, pulled and
run by the agent under docker. Compiled in 20 minutes the first time; docker keeps the layers in the person's cache.

The generic flags, because not every machine has AVX-512; the Dockerfile is the one of the avx512 build.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from deployer.agent.containers import NAME
from deployer.rehearsal import sandbox, tiny_model
from deployer.render.program import PACKAGE, make
from tests.box.docker import daemon
from tests.box.docker.daemon import Docker
from tests.box.docker.running import READY_SECONDS, complete, ends, ends_with_a_request_in_flight, forget, outfit
from tests.box.images import ecr
from tests.box.images.building import CACHE, archive, need, tiny
from tests.rehearse.support import Sandbox, program
from tests.support.waiting import until
from tests.unit.agent.box import Box
from tests.unit.agent.servers import Metadata

pytestmark = pytest.mark.box
SPEC = "stacks/c8i-27b-mtp.yaml"
_BUILD_SECONDS = 3600
_BASE = "debian:box"
#: What the embedded ECR hands out for that account.
_PASSWORD = daemon.ACCOUNT_HOST.partition(".")[0] + "-auth-token"


@dataclass(frozen=True)
class Pushed:
    """host: as the docker runtime's tests know it. built, image: what the commands said. name: by digest."""

    docker: Docker
    built: dict[str, object]
    local: str
    name: str
    password: str
    model: Path
    info: sandbox.SandboxInfo


def ask(environ: dict[str, str], *words: str) -> dict[str, object]:
    """The last line of a command of the product."""
    done = subprocess.run(
        program("image", *words, SPEC, "--set", "engine.build=generic", "--json"),
        env=environ, capture_output=True, text=True, timeout=_BUILD_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


def import_base(docker: Docker) -> None:
    """A Debian of this machine's own archive: a registry of base images cannot be reached from everywhere."""
    if docker("images", "--quiet", _BASE):
        return
    need("mmdebstrap", packages="mmdebstrap")
    packed = CACHE / "base.tar"
    if not packed.is_file():
        options = ["--quiet", "--variant=minbase", '--aptopt=Acquire::Languages "none"']
        subprocess.run(["mmdebstrap", *options, "bookworm", str(packed)], check=True)
    docker("import", str(packed), _BASE)


@contextlib.contextmanager
def daemon_of(place: str) -> Iterator[Docker]:
    """With the layers of earlier runs."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with daemon.dockerd(place, address=ecr.ADDRESS, data=CACHE / "docker") as docker:
        yield docker


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pushed]:
    if reason := daemon.missing():
        pytest.fail(reason, pytrace=False)
    folder = tmp_path_factory.mktemp("x86")
    info = sandbox.start(folder / "sandbox", machines="process", parent_pid=os.getpid())
    try:
        host = daemon.ACCOUNT_HOST
        with (
            daemon.registry(folder / "registry", ecr.PORT, "AWS", _PASSWORD, address=ecr.ADDRESS),
            daemon_of(host) as docker,
        ):
            import_base(docker)
            ecr.client(docker, folder / "bin")
            environ = {**os.environ, **info.env, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
            model = tiny_model.write(folder / "tiny.gguf", endless=True)
            built = ask(environ, "build", "--source", str(archive()), "--base", _BASE, "--model", str(tiny()))
            sent = ask(environ, "push")
            local = str(built["image"])
            yield Pushed(docker, built, local, str(sent["image"]), _PASSWORD, model, info)
    finally:
        sandbox.stop(folder / "sandbox")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lib")
    (folder / PACKAGE).mkdir()
    (folder / PACKAGE / "__main__.py").write_text(make())
    return folder


@pytest.fixture
def box(pushed: Pushed, tmp_path: Path, library: Path) -> Iterator[Box]:
    """An instance whose docker has not got the image."""
    forget(pushed.docker, pushed.name)
    with Metadata() as metadata:
        metadata.value = pushed.password
        made = Box(tmp_path / "root", library)
        outfit(made, pushed.docker, pushed.name, pushed.model, metadata, "-t", "2")
        yield made
        made.close()
        pushed.docker("rm", "--force", NAME, check=False)


def test_the_image(pushed: Pushed) -> None:
    tried = pushed.built["smoke_test"]
    assert isinstance(tried, dict) and tried["draft_n_accepted"] > 0
    (found,) = json.loads(pushed.docker("image", "inspect", pushed.local))
    config = found["Config"]
    assert config["User"] == "10001:10001" and config["StopSignal"] == "SIGTERM"
    assert config["Healthcheck"]["Test"] == ["CMD", "/opt/llama/bin/healthy"]
    labels = config["Labels"]
    assert (
        labels["org.opencontainers.image.version"] == "b11549" and "-DGGML_NATIVE=OFF" in labels["deployer.cmake-flags"]
    )
    (base,) = json.loads(pushed.docker("image", "inspect", _BASE))
    assert found["Size"] - base["Size"] < 60e6
    version = pushed.docker("run", "--rm", "--network", "none", pushed.local, "--version")
    assert "build 11549" in version


def test_an_abort_is_told_as_one(pushed: Pushed, tmp_path: Path) -> None:
    model = tmp_path / "m.gguf"
    tiny_model.write_variant(model, tiny_model.Variant("qwen35", "missing-tensors"))
    command = ["docker", "--host", pushed.docker.host, "run", "--rm", "--network", "none"]
    command += ["--mount", f"type=bind,readonly,src={model},dst=/m.gguf", pushed.local, "-m", "/m.gguf", "-c", "512"]
    done = subprocess.run([*command, "--spec-type", "draft-mtp"], capture_output=True, text=True, check=False)
    assert done.returncode == 134, done.stderr[-1000:]


def test_it_answers_with_drafts_and_is_healthy_on_its_own_port(pushed: Pushed, box: Box) -> None:
    agent = box.start()
    ready = box.said("ready", "done", READY_SECONDS)
    assert ready["detail"]["draft_n_accepted"] > 0 and box.port != 18080
    assert complete(box)["timings"]["draft_n_accepted"] > 0
    health = "{{.State.Health.Status}}"
    until(lambda: pushed.docker("inspect", "--format", health, NAME) == "healthy", "docker says healthy", seconds=30)
    ends(agent, pushed.docker)


def test_it_stops_with_a_request_in_flight(pushed: Pushed, box: Box) -> None:
    ends_with_a_request_in_flight(box, pushed.docker)


def test_it_survives_a_crash_and_a_restart_of_the_machine(pushed: Pushed, box: Box) -> None:
    agent = box.start()
    box.said("ready", "done", READY_SECONDS)
    pushed.docker("exec", NAME, "sh", "-c", "kill -SEGV $(grep -lx llama-server /proc/[0-9]*/comm | cut -d/ -f3)")
    restarting = box.said("engine", "restarting", 30)
    assert "139" in restarting["message"]
    until(lambda: len(box.lines("ready", "done")) == 2, "it is ready again", seconds=READY_SECONDS)
    # The power goes: the agent and the container end at once, and what is on the disk stays.
    agent.kill()
    agent.wait()
    pushed.docker("kill", NAME)
    box.start()
    until(lambda: len(box.lines("ready", "done")) == 3, "the machine serves again", seconds=READY_SECONDS)
    assert complete(box)["timings"]["draft_n_accepted"] > 0
    assert not [line for line in box.lines("image") if "pulling" in str(line).lower() and line["state"] == "failed"]


#: On a real builder; a process machine has this computer's file system.
_BUILDER_FOLDER = Path("/var/lib/deployer-build")


def test_a_builder_instance_builds_tries_and_pushes_the_same_image(pushed: Pushed) -> None:
    assert not _BUILDER_FOLDER.exists()
    shell = Sandbox(pushed.info.state_dir, pushed.info.env)
    words = ["--source", str(archive()), "--base", _BASE, "--model", str(tiny()), "--on-instance", "--json"]
    try:
        with shell.start("image", "build", SPEC, "--set", "engine.build=generic", *words) as process:
            machines = pushed.info.state_dir / "machines"
            until(lambda: list(machines.glob("i-*")), "the builder is launched", seconds=60)
            (machine,) = machines.glob("i-*")
            # The builder's own docker, before anybody has logged in.
            programs = machine / "bin/ssh"
            ecr.client(pushed.docker, programs, pushed.info.env)
            (programs / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
            (programs / "sudo").chmod(0o755)
            out, err = process.communicate(timeout=600)
    finally:
        shutil.rmtree(_BUILDER_FOLDER, ignore_errors=True)
    assert process.returncode == 0, out[-3000:] + err[-3000:]
    done = json.loads(out.splitlines()[-1])
    assert done["image"] == pushed.name and done["smoke_test"]["draft_n_accepted"] > 0
    assert pushed.password not in out + err
    status = shell.status()
    assert status["machines"] == [] and [one for one in status["resources"] if "ecr" not in one.lower()] == []
