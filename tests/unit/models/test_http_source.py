"""Reading over HTTP by ranges, from servers that do it well and badly."""

from __future__ import annotations

import pytest

from deployer.models.http_source import HttpSource
from deployer.models.places import resolve
from deployer.models.source import SourceChanged, SourceError, Stopped, read_exactly
from deployer.rehearsal.weights import Behaviour, WeightServer
from tests.support.clock import FakeClock
from tests.unit.models.servers import untrusted


def _open(url: str) -> HttpSource:
    return HttpSource(resolve(url, {}))


def test_only_the_header_is_fetched(gguf, serve, look) -> None:
    body = gguf(padding_mib=16).read_bytes()
    server = serve(body)
    found = look(f"{server.url}/model.gguf")
    assert found["size_bytes"] == len(body)
    assert found["header_bytes"] < server.sent < len(body) / 4


def test_a_hub_is_read_through_its_mirror(tmp_path, look) -> None:
    hub = WeightServer(tmp_path).start()
    try:
        place = "modelscope://unsloth/Qwen3.6-35B-A3B-MTP-GGUF/Qwen3.6-35B-A3B-UD-Q4_K_M.gguf"
        found = look(place, DEPLOYER_MIRROR_MODELSCOPE=hub.url)
        assert found["source"] == place
        assert found["architecture"] == "qwen35moe"
        named = look("Qwen3.6-35B-A3B", DEPLOYER_MIRROR_MODELSCOPE=hub.url)
        assert named == found
    finally:
        hub.close()


@pytest.mark.parametrize(
    ("status", "words"), [(404, "does not exist"), (403, "may not be read"), (418, "answered 418")]
)
def test_refusals(serve, look, status, words) -> None:
    server = serve(b"x", statuses=(status,) * 2)
    with pytest.raises(SourceError, match=words) as refused:
        look(f"{server.url}/model.gguf")
    assert refused.value.exit_code == 3


def test_a_server_without_ranges(gguf, serve, look) -> None:
    server = serve(gguf(padding_mib=16).read_bytes(), ranges=False)
    with pytest.raises(SourceError, match="ignores ranged requests"):
        look(f"{server.url}/model.gguf")
    assert server.sent < 8 << 20, "the body is not waited for"


def test_an_untrusted_certificate(serve, look, tmp_path, monkeypatch, gguf) -> None:
    url = untrusted(serve(gguf().read_bytes()), tmp_path)
    with pytest.raises(SourceError, match="the connection is not trusted: certificate verify failed") as refused:
        look(f"{url}/model.gguf")
    assert "_ssl.c" not in refused.value.message
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "tls.pem"))
    assert look(f"{url}/model.gguf")["architecture"] == "qwen35"


def test_nobody_listens(serve, look) -> None:
    server = serve(b"")
    server.server.close()
    with pytest.raises(SourceError, match=r"cannot be read: .*refused"):
        look(f"{server.url}/model.gguf")


def test_a_password_or_signature_in_the_url_is_never_shown(serve, look) -> None:
    server = serve(b"x", statuses=(404,))
    with pytest.raises(SourceError) as refused:
        look(server.url.replace("//", "//me:hunter2@") + "/model.gguf?X-Amz-Signature=hunter2")
    assert "hunter2" not in refused.value.message
    assert "/model.gguf" in refused.value.message


def test_cuts_are_answered_by_asking_for_the_rest(tmp_path) -> None:
    hub = WeightServer(tmp_path, padding_mib=4).start()
    hub.behaviour = Behaviour(cut_after_bytes=1_000_000, cuts=4)
    source = _open(f"{hub.url}/any/model.gguf")
    try:
        clock = FakeClock()
        data = read_exactly(source, 1000, 6_000_000, clock)
        assert data == hub.file("any", "model.gguf").path.read_bytes()[1000:6_001_000]
        assert hub.tally.cuts == 4
        assert hub.bytes_served < 6_100_000, "nothing is fetched twice"
    finally:
        source.close()
        hub.close()


def test_a_silent_source_is_given_up_with_its_last_words(serve) -> None:
    server = serve(b"x" * 1000)
    source = _open(f"{server.url}/model.gguf")
    server.statuses = [503] * 20
    clock = FakeClock()
    with pytest.raises(SourceError, match="gave no byte in 6 tries: the server answered 503"):
        read_exactly(source, 0, 1000, clock)
    assert len(clock.sleeps) == 5
    source.close()


def test_a_busy_server_gets_time(serve) -> None:
    server = serve(b"x" * 1000)
    source = _open(f"{server.url}/model.gguf")
    server.statuses = [503, 429, 502]
    assert read_exactly(source, 0, 1000, FakeClock()) == b"x" * 1000
    source.close()


@pytest.mark.parametrize("change", ["etag", "length"])
def test_a_file_that_changes_while_it_is_read(serve, change) -> None:
    server = serve(b"x" * 1000)
    source = _open(f"{server.url}/model.gguf")
    if change == "etag":
        server.etag = '"2"'
    else:
        server.body = b"x" * 1001
    with pytest.raises(SourceChanged, match="changed while it was read"):
        read_exactly(source, 0, 1000, FakeClock())
    source.close()


def test_stopping_ends_a_read_at_once(serve) -> None:
    source = _open(f"{serve(b'x' * 5_000_000).url}/model.gguf")
    with pytest.raises(Stopped):
        read_exactly(source, 0, 5_000_000, FakeClock(), stopped=lambda: True)
    source.close()


def test_the_digest_that_a_hub_tells_on_the_way(serve) -> None:
    server = serve(b"x" * 10)
    digest = "ab" * 32
    server.redirects["/hub.gguf"] = {"Location": f"{server.url}/store.gguf", "X-Linked-ETag": f'"{digest}"'}
    source = _open(f"{server.url}/hub.gguf")
    assert (source.sha256, source.size) == (digest, 10)
    source.close()
