"""One dockerd, one registry and one image for all tests here; machines are not booted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from platformdirs import user_cache_path

from deployer.rehearsal import tiny_model
from deployer.rehearsal.machines.booted import rootfs
from deployer.render.program import PACKAGE, make
from tests.box.docker.daemon import Docker, dockerd, missing, registry
from tests.box.docker.engine_image import build
from tests.box.docker.running import forget, outfit
from tests.unit.agent.box import Box, free_port
from tests.unit.agent.servers import Metadata

#: Of the person, read before the tests get a home of their own.
_OWN_CACHE = user_cache_path("deployer")
NAME = "deployer/llama-cpp:test"


@dataclass(frozen=True)
class Host:
    """image: by the name and digest it has in the registry."""

    docker: Docker
    registry: str
    image: str
    local_image: str
    model: Path


@pytest.fixture(autouse=True, scope="session")
def image() -> None:
    """Instead of the booted machines' fixture of this name."""


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    if reason := missing():
        pytest.fail(f"docker cannot be tried here: {reason}", pytrace=False)
    machine = _OWN_CACHE / rootfs.rootfs_path().name
    if not machine.is_dir():
        pytest.fail("the machine image is not built: make test-box builds it", pytrace=False)
    folder = tmp_path_factory.mktemp("docker")
    login = Metadata().value
    with registry(folder / "registry", free_port(), "AWS", login) as place, dockerd(place) as docker:
        build(docker, machine, folder / "context", NAME)
        remote = f"{place}/{NAME}"
        mine = ("--config", str(folder / "login"))
        docker(*mine, "login", "--username", "AWS", "--password-stdin", place, secret=login)
        docker("tag", NAME, remote)
        docker(*mine, "push", "--quiet", remote)
        digest = docker("image", "inspect", "--format", "{{index .RepoDigests 0}}", remote).partition("@")[2]
        docker("image", "rm", remote)
        model = tiny_model.write(folder / "tiny.gguf", endless=True)
        yield Host(docker, place, f"{remote}@{digest}", NAME, model)


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The agent as it is installed on an instance."""
    folder = tmp_path_factory.mktemp("lib")
    (folder / PACKAGE).mkdir()
    (folder / PACKAGE / "__main__.py").write_text(make())
    return folder


@pytest.fixture
def metadata() -> Iterator[Metadata]:
    with Metadata() as server:
        yield server


@pytest.fixture
def box(host: Host, tmp_path: Path, library: Path, metadata: Metadata) -> Iterator[Box]:
    """An instance with a role, its docker, and a stack that drafts with MTP from the image in the registry."""
    made = Box(tmp_path / "root", library)
    outfit(made, host.docker, host.image, host.model, metadata, "--no-ui")
    yield made
    made.close()
    forget(host.docker, host.image)
