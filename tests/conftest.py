"""For every test: no connection leaves this machine, and nothing of the person's own set-up is read or written."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_PRIVATE = ("AWS_", "DEPLOYER_")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


def pytest_xdist_auto_num_workers() -> int:
    """Two a core: most of a test's time is other programs starting and waiting for each other."""
    return 2 * (os.cpu_count() or 1)


class LeftTheMachine(AssertionError):
    """A test tried to connect to something that is not on loopback."""


def _is_loopback(address: Any) -> bool:
    if not isinstance(address, tuple):
        return True  # a Unix socket's path
    host = address[0]
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in ("", "localhost")


@pytest.fixture(autouse=True, scope="session")
def only_loopback() -> Iterator[list[str]]:
    """Refuse every connection that would leave loopback, and fail at the end even if the refusal was swallowed."""
    tried: list[str] = []
    connect, connect_ex, sendto = socket.socket.connect, socket.socket.connect_ex, socket.socket.sendto

    def check(address: Any) -> None:
        if not _is_loopback(address):
            tried.append(f"{os.environ.get('PYTEST_CURRENT_TEST')}: {address}")
            raise LeftTheMachine(f"connection to {address}")

    def guarded_connect(self: socket.socket, address: Any) -> None:
        check(address)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        check(address)
        return connect_ex(self, address)

    def guarded_sendto(self: socket.socket, data: Any, *rest: Any) -> int:
        if rest:
            check(rest[-1])
        return sendto(self, data, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded_connect)
        patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
        patch.setattr(socket.socket, "sendto", guarded_sendto)
        yield tried
    assert not tried, f"tests tried to leave this machine: {tried}"


@pytest.fixture(autouse=True, scope="session")
def own_surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home of its own and none of the person's AWS, deployer or proxy settings; gives that home."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(_PRIVATE) or name.lower() in _PROXIES:
                patch.delenv(name)
        patch.setenv("HOME", str(home))
        patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
        patch.setenv("XDG_DATA_HOME", str(home / "data"))
        patch.setenv("AWS_CONFIG_FILE", os.devnull)
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield home
