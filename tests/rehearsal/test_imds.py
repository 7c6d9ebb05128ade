"""The metadata service: a token first, then documents and listings."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from deployer.rehearsal.machines.imds import MetadataService
from tests.support.clock import FakeClock

METADATA = {
    "instance-id": "i-1",
    "instance-type": "g5.xlarge",
    "placement/region": "cn-northwest-1",
    "placement/availability-zone": "cn-northwest-1a",
    "public-keys/0/openssh-key": "ssh-ed25519 AAAA",
    "iam/security-credentials/role": '{"Code":"Success"}',
}
TTL = "X-aws-ec2-metadata-token-ttl-seconds"
TOKEN = "X-aws-ec2-metadata-token"


@pytest.fixture
def service() -> Iterator[MetadataService]:
    made = MetadataService("127.0.0.1", METADATA, b"#cloud-config\n", FakeClock())
    yield made
    made.close()


def ask(service, method, path, headers=None):
    connection = http.client.HTTPConnection(urlsplit(service.url).netloc, timeout=10)
    try:
        connection.request(method, path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def token(service, seconds="60"):
    return ask(service, "PUT", "/latest/api/token", {TTL: seconds})[1]


@pytest.mark.parametrize("headers", [{}, {TOKEN: "guess"}, {TOKEN: ""}])
def test_without_a_token_401(service, headers):
    for path in ("/latest/meta-data/instance-id", "/latest/user-data", "/latest/meta-data/nothing"):
        assert ask(service, "GET", path, headers) == (401, "")


def test_a_token_ends(service):
    headers = {TOKEN: token(service, "10")}
    assert ask(service, "GET", "/latest/meta-data/instance-id", headers) == (200, "i-1")
    service._clock.sleep(11)
    assert ask(service, "GET", "/latest/meta-data/instance-id", headers)[0] == 401


@pytest.mark.parametrize("headers", [{}, {TTL: "0"}, {TTL: "21601"}, {TTL: "long"}])
def test_a_token_needs_a_lifetime(service, headers):
    assert ask(service, "PUT", "/latest/api/token", headers)[0] == 400


def test_a_proxy_gets_no_token(service):
    assert ask(service, "PUT", "/latest/api/token", {TTL: "60", "X-Forwarded-For": "1.2.3.4"})[0] == 403


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("meta-data/placement/region", "cn-northwest-1"),
        ("meta-data/placement/", "region\navailability-zone"),
        ("meta-data/iam/security-credentials/", "role"),
        ("meta-data/iam/security-credentials/role", '{"Code":"Success"}'),
        ("meta-data/public-keys/", "0=key"),
        ("meta-data/public-keys/0/openssh-key", "ssh-ed25519 AAAA"),
        ("meta-data/", "instance-id\ninstance-type\nplacement/\npublic-keys/\niam/"),
        ("user-data", "#cloud-config\n"),
    ],
)
def test_documents_and_listings(service, path, text):
    assert ask(service, "GET", f"/latest/{path}", {TOKEN: token(service)}) == (200, text)


def test_identity_and_what_is_not_there(service):
    headers = {TOKEN: token(service)}
    status, text = ask(service, "GET", "/latest/dynamic/instance-identity/document", headers)
    found = json.loads(text)
    assert (status, found["region"], found["instanceId"]) == (200, "cn-northwest-1", "i-1")
    assert ask(service, "GET", "/latest/meta-data/spot/instance-action", headers)[0] == 404
    assert ask(service, "PUT", "/latest/meta-data/instance-id", headers)[0] == 404


def test_metadata_is_read_anew():
    metadata = dict(METADATA)
    service = MetadataService("127.0.0.1", metadata, b"", FakeClock())
    try:
        headers = {TOKEN: token(service)}
        metadata["spot/instance-action"] = "{}"
        assert ask(service, "GET", "/latest/meta-data/spot/instance-action", headers) == (200, "{}")
        assert ask(service, "GET", "/latest/user-data", headers)[0] == 404
    finally:
        service.close()
