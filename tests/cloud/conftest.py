"""An embedded AWS in this process, an account of its own for each test, and real boto3 clients against it."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
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


@pytest.fixture
def account() -> str:
    """An account of this test's own."""
    return fresh_account()


@pytest.fixture
def cloud(account: str) -> Iterator[Cloud]:
    """An empty cloud without machines whose transitions take no time."""
    made = Cloud(account=account, options=INSTANT)
    yield made
    made.close()


@pytest.fixture
def boto(cloud: Cloud) -> Callable[..., Any]:
    """`boto("ec2")` is a client against the cloud."""

    def make(service: str, **options: Any) -> Any:
        return client_of(cloud.url, service, **options)

    return make


@pytest.fixture
def plain_moto() -> Iterator[Callable[[str], Any]]:
    """`plain_moto("ec2")` is a client against moto without any of our rules, for the tests that pin its gaps."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

    account = fresh_account()
    app = DomainDispatcherApplication(create_backend_app)

    def in_own_account(environ: dict[str, Any], start_response: Any) -> Any:
        return app(environ | {"HTTP_X_MOTO_ACCOUNT_ID": account}, start_response)

    server = WsgiServer(in_own_account)
    yield lambda service: client_of(server.url, service)
    server.close()


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
