"""An embedded AWS in this process, an account of its own for each test, and real boto3 clients against it."""

from __future__ import annotations

import gc
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import boto3
import pytest
from botocore.config import Config

from deployer.rehearsal.cloud import ACCESS_KEY, REGION, SECRET_KEY, Cloud
from deployer.rehearsal.fidelity.options import Options
from deployer.rehearsal.wsgi import WsgiServer

_numbers = itertools.count(1)
_session = boto3.Session(aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY, region_name=REGION)

#: No transition takes longer than its background work.
INSTANT = Options(pending_seconds=0.0, shutting_down_seconds=0.0, stopping_seconds=0.0)


def fresh_account() -> str:
    """A twelve-digit account id that no other test of this run uses."""
    return f"9{os.getpid() % 10**6:06d}{next(_numbers):05d}"


def client_of(url: str, service: str, *, region: str = REGION, attempts: int = 1) -> Any:
    """A boto3 client of one service. attempts: how often botocore itself sends a call in all."""
    config = Config(retries={"total_max_attempts": attempts, "mode": "standard"}, proxies={}, max_pool_connections=20)
    return _session.client(service, endpoint_url=url, region_name=region, config=config)


@cache
def settled_heap() -> None:
    """Load moto once and take it out of the collector's sight: a look through all of it costs 0.3 s each time."""
    Cloud(account=fresh_account(), options=INSTANT).close()
    gc.collect()
    gc.freeze()


@pytest.fixture
def account() -> str:
    """An account of this test's own."""
    return fresh_account()


@pytest.fixture
def cloud(account: str) -> Iterator[Cloud]:
    """An empty cloud without machines whose transitions take no time."""
    settled_heap()
    made = Cloud(account=account, options=INSTANT)
    yield made
    made.close()


class Front:
    """One address for whichever cloud a test has, so that clients, which are slow to make, can be kept."""

    def __init__(self) -> None:
        self.app: Callable[..., Any] | None = None
        self.server = WsgiServer(lambda environ, start_response: self.app(environ, start_response))
        self._clients: dict[object, Any] = {}

    def client(self, service: str, **options: Any) -> Any:
        """A client, made on first use."""
        key = (service, *sorted(options.items()))
        if key not in self._clients:
            self._clients[key] = client_of(self.server.url, service, **options)
        return self._clients[key]


@pytest.fixture(scope="session")
def front() -> Iterator[Front]:
    made = Front()
    yield made
    made.server.close()


@pytest.fixture
def boto(cloud: Cloud, front: Front) -> Callable[..., Any]:
    """`boto("ec2")` is a client against the cloud."""
    front.app = cloud.app
    return front.client


@pytest.fixture(scope="session")
def moto_front() -> Iterator[Front]:
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

    made = Front()
    made.app = DomainDispatcherApplication(create_backend_app)
    yield made
    made.server.close()


@pytest.fixture
def plain_moto(moto_front: Front) -> Iterator[Callable[[str], Any]]:
    """`plain_moto("ec2")` is a client against moto without any of our rules, for the tests that pin its gaps."""
    account = fresh_account()
    app = moto_front.app

    def in_own_account(environ: dict[str, Any], start_response: Any) -> Any:
        return app(environ | {"HTTP_X_MOTO_ACCOUNT_ID": account}, start_response)

    moto_front.app = in_own_account
    yield moto_front.client
    moto_front.app = app


@pytest.fixture
def until() -> Callable[..., Any]:
    """`until(predicate)` gives its first true value, or fails after `seconds`."""

    def poll(predicate: Callable[[], Any], seconds: float = 10.0) -> Any:
        deadline = time.monotonic() + seconds
        while not (value := predicate()):
            assert time.monotonic() < deadline, "it did not come true in time"
            threading.Event().wait(0.01)
        return value

    return poll
