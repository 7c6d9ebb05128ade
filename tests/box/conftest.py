"""Booted machines for tests. They need root, the packages and the image; `make test-box` sees to the image."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import paramiko
import pytest
from platformdirs import user_cache_path

import tests.conftest
from deployer.rehearsal.machines.booted import host, rootfs
from deployer.rehearsal.machines.booted.hypervisor import BootedHypervisor
from tests.box.boxes import Box
from tests.box.host import containers, traces

#: Of the person, read before the tests get a home of their own.
_OWN_CACHE = user_cache_path("deployer")


@pytest.fixture(autouse=True, scope="session")
def image(own_surroundings: Path) -> Iterator[None]:
    """The person's own image, and connections to machines' addresses."""
    place = rootfs.rootfs_path()
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(_OWN_CACHE / place.name)
    if reason := host.available(own_surroundings):
        pytest.fail(f"machines cannot be booted here: {reason}", pytrace=False)
    loopback = tests.conftest._is_loopback
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tests.conftest, "_is_loopback", lambda to: loopback(to) or str(to[0]).startswith("198.18."))
        yield


@pytest.fixture(scope="module")
def hypervisor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BootedHypervisor]:
    """One for a module, without an AWS behind it; nothing of it may be left."""
    folder = tmp_path_factory.mktemp("state")
    made = BootedHypervisor(folder, cloud_url="http://127.0.0.1:9")
    yield made
    made.close()
    assert traces(made.slot) == []
    assert containers(folder) == []
    assert list((folder / "machines").glob("*")) == []
    assert list(Path("/run/systemd/nspawn/propagate").glob("i-00000000*")) == []


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> paramiko.PKey:
    return paramiko.RSAKey.generate(2048)


@pytest.fixture(scope="module")
def box(hypervisor: BootedHypervisor, key: paramiko.PKey) -> Box:
    """A machine that has come up and lets ssh in."""
    made = Box.boot(hypervisor, key)
    made.wait_up()
    return made
