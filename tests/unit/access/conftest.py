from __future__ import annotations

import pytest

from deployer.access.keys import ensure_private_key
from deployer.access.login import SshTarget
from tests.support.ssh_server import SshServer


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "key"
    ensure_private_key(path)
    return path


@pytest.fixture
def server(key):
    with SshServer(authorized=(ensure_private_key(key),)) as running:
        yield running


@pytest.fixture
def target(server, key):
    return SshTarget("127.0.0.1", server.port, server.user, key, (server.public_host_key,))
