"""Images from registry to registry, between two real ones on loopback."""

from __future__ import annotations

import hashlib
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from deployer.aws.session import connect
from deployer.errors import RefusedError
from deployer.events import Event, Json
from deployer.images import mirror as mirroring
from deployer.images.mirror import copy
from deployer.images.reference import Reference
from deployer.images.registry_http import INDEXES, MANIFESTS, Registry, RegistryError
from deployer.rehearsal import sandbox
from deployer.settings import Settings
from tests.box.docker import daemon
from tests.box.docker.daemon import ACCOUNT_HOST
from tests.box.images.building import need

pytestmark = pytest.mark.box
#: What the embedded ECR hands out.
_LOGIN = ("AWS", ACCOUNT_HOST.partition(".")[0] + "-auth-token")


@pytest.fixture
def registries(tmp_path: Path) -> Iterator[tuple[Registry, Registry]]:
    need("docker-registry", packages="docker-registry")
    (outside, inside) = (_free(), _free())
    with (
        daemon.registry(tmp_path / "outside", outside, *_LOGIN),
        daemon.registry(tmp_path / "inside", inside, *_LOGIN),
        Registry(f"127.0.0.1:{outside}", login=_LOGIN, plain_http=True) as theirs,
        Registry(f"127.0.0.1:{inside}", login=_LOGIN, plain_http=True) as ours,
    ):
        yield theirs, ours


def _free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def send(registry: Registry, repository: str, content: bytes) -> dict[str, Json]:
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    registry.send_blob(repository, digest, len(content), iter([content]))
    return {"digest": digest, "size": len(content)}


def fill(registry: Registry, repository: str = "library/engine") -> dict[str, str]:
    """An image for two architectures, tag `v1`, with a layer in common; the digest of each."""
    shared = send(registry, repository, bytes(3_000_000))
    entries: list[Json] = []
    for architecture in ("amd64", "arm64"):
        config = send(registry, repository, json.dumps({"os": "linux", "architecture": architecture}).encode())
        layers = [shared, send(registry, repository, architecture.encode() * 100_000)]
        kind = MANIFESTS[1]
        manifest = json.dumps({"schemaVersion": 2, "mediaType": kind, "config": config, "layers": layers}).encode()
        registry.send_manifest(repository, architecture, manifest, kind)
        digest = f"sha256:{hashlib.sha256(manifest).hexdigest()}"
        platform: dict[str, Json] = {"os": "linux", "architecture": architecture}
        entries.append({"mediaType": kind, "size": len(manifest), "digest": digest, "platform": platform})
    index = json.dumps({"schemaVersion": 2, "mediaType": INDEXES[1], "manifests": entries}).encode()
    registry.send_manifest(repository, "v1", index, INDEXES[1])
    return {str(e["platform"]["architecture"]): str(e["digest"]) for e in entries}  # type: ignore[index,call-overload]


def test_one_architecture_under_its_own_digest_and_again_nothing(registries: tuple[Registry, Registry]) -> None:
    theirs, ours = registries
    digests = fill(theirs)
    source = Reference(theirs.host, "library/engine", "v1", None)
    events: list[Event] = []
    done = copy(theirs, source, ours, "deployer/mirror/engine", "arm64", emit=events.append)
    assert done.digest == digests["arm64"] and done.sent_bytes > 3_000_000
    assert ours.has_manifest("deployer/mirror/engine", "v1-arm64") == digests["arm64"]
    content, _, _ = ours.manifest("deployer/mirror/engine", digests["arm64"])
    for layer in json.loads(content)["layers"]:
        assert sum(map(len, ours.blob("deployer/mirror/engine", layer["digest"]))) == layer["size"]
    again = copy(theirs, source, ours, "deployer/mirror/engine", "arm64", emit=events.append)
    assert again == type(done)(done.digest, 0)
    other = copy(theirs, source, ours, "deployer/mirror/engine", "x86_64", emit=events.append)
    assert 0 < other.sent_bytes < 3_000_000  # the layer in common was there


def test_into_the_accounts_ecr(
    registries: tuple[Registry, Registry], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs, ours = registries
    digests = fill(theirs)
    info = sandbox.start(tmp_path / "sandbox", machines="none", parent_pid=os.getpid())
    try:
        for name, value in info.env.items():
            monkeypatch.setenv(name, value)
        aws = connect(info.env["AWS_REGION"], Settings.from_env(os.environ))

        def registry(host: str, *, login: tuple[str, str] | None = None, plain_http: bool = False) -> Registry:
            """ECR's host name is in no name service; its login is the one that the registry wants."""
            assert not plain_http or host == theirs.host
            assert login in (None, _LOGIN)
            return Registry(ours.host if ".dkr.ecr." in host else host, login=_LOGIN, plain_http=True)

        monkeypatch.setattr(mirroring, "Registry", registry)
        source = Reference(theirs.host, "library/engine", "v1", None)
        done = mirroring.mirror(source, "arm64", aws, emit=_ignore)
        assert done["sent_bytes"] and done["digest"] == digests["arm64"]
        assert done["image"] == f"{ACCOUNT_HOST}/deployer/mirror/library/engine:v1-arm64@{digests['arm64']}"
        assert mirroring.mirror(source, "arm64", aws, emit=_ignore) == {**done, "sent_bytes": 0}
        assert ours.has_manifest("deployer/mirror/library/engine", "v1-arm64") == digests["arm64"]
    finally:
        sandbox.stop(tmp_path / "sandbox")


def test_a_tag_that_another_image_has_is_kept(registries: tuple[Registry, Registry]) -> None:
    theirs, ours = registries
    digests = fill(theirs)
    copy(theirs, Reference(theirs.host, "library/engine", "v1", digests["amd64"]), ours, "m", "x86_64", emit=_ignore)
    with pytest.raises(RefusedError, match="is another image already"):
        copy(
            theirs, Reference(theirs.host, "library/engine", "v1", digests["arm64"]), ours, "m", "x86_64", emit=_ignore
        )


def test_what_is_not_there(registries: tuple[Registry, Registry]) -> None:
    theirs, ours = registries
    fill(theirs)
    with pytest.raises(RegistryError, match="HTTP 404"):
        copy(theirs, Reference(theirs.host, "library/engine", "v9", None), ours, "m", "arm64", emit=_ignore)
    stranger = Registry(theirs.host, plain_http=True)
    with stranger, pytest.raises(RegistryError, match="asks for a login"):
        stranger.manifest("library/engine", "v1")


def _ignore(_: Event) -> None:
    """Nobody listens."""
