"""The hub: ModelScope's paths and plain ones, ranges, and its misbehaviour on request."""

from __future__ import annotations

import hashlib
import http.client
import json
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from deployer.rehearsal.variants import variant_for
from deployer.rehearsal.weights import Behaviour, WeightServer
from tests.support.clock import FakeClock
from tests.support.waiting import until

REPO = "unsloth/Qwen3.6-27B-MTP-GGUF"
FILE = "Qwen3.6-27B-Q4_K_M.gguf"
PATH = f"/models/{REPO}/resolve/master/{FILE}"


@pytest.fixture
def hub(tmp_path_factory) -> Iterator[WeightServer]:
    clock = FakeClock()
    server = WeightServer(tmp_path_factory.getbasetemp().parent / "models", clock=clock).start()
    yield server
    server.close()


def ask(hub, path, method="GET", **headers):
    connection = http.client.HTTPConnection(urlsplit(hub.url).netloc, timeout=10)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer, answer.read()
    finally:
        connection.close()


def test_a_file_and_its_head(hub):
    answer, body = ask(hub, PATH)
    head, nothing = ask(hub, PATH, "HEAD")
    assert (answer.status, head.status, nothing) == (200, 200, b"")
    assert body.startswith(b"GGUF")
    assert head.headers["Content-Length"] == str(len(body))
    assert answer.headers["ETag"] == head.headers["ETag"] == f'"{hashlib.sha256(body).hexdigest()}"'
    assert answer.headers["Accept-Ranges"] == "bytes"
    # The last piece is counted when it is sent, which may be after it was read here.
    until(lambda: hub.bytes_served >= len(body), "every byte being counted")
    assert hub.bytes_served == len(body)


def test_the_listing_tells_size_and_digest(hub):
    _, body = ask(hub, PATH)
    answer, text = ask(hub, f"/api/v1/models/{REPO}/repo/files?Revision=master&Recursive=true")
    assert answer.status == 200
    entry = next(entry for entry in json.loads(text)["Data"]["Files"] if entry["Path"] == FILE)
    assert (entry["Name"], entry["Size"], entry["Sha256"]) == (FILE, len(body), hashlib.sha256(body).hexdigest())


def test_a_repository_outside_the_catalogue_lists_what_was_asked_for(hub):
    ask(hub, "/models/someone/Thing-7B-GGUF/resolve/v1/thing.gguf", "HEAD")
    _, text = ask(hub, "/api/v1/models/someone/Thing-7B-GGUF/repo/files?Revision=v1")
    assert [(entry["Path"], entry["Revision"]) for entry in json.loads(text)["Data"]["Files"]] == [("thing.gguf", "v1")]


@pytest.mark.parametrize(
    ("asked", "status", "cut"),
    [
        ("bytes=0-99", 206, slice(0, 100)),
        ("bytes=100-", 206, slice(100, None)),
        ("bytes=-7", 206, slice(-7, None)),
        ("bytes=5-99999999999", 206, slice(5, None)),
        ("bytes=9-5", 200, slice(None)),
        ("lines=1-2", 200, slice(None)),
    ],
)
def test_ranges(hub, asked, status, cut):
    _, whole = ask(hub, PATH)
    answer, body = ask(hub, PATH, Range=asked)
    assert (answer.status, body) == (status, whole[cut])
    if status == 206:
        first = len(whole[: cut.start]) if cut.start >= 0 else len(whole) + cut.start
        assert answer.headers["Content-Range"] == f"bytes {first}-{first + len(body) - 1}/{len(whole)}"


def test_a_range_behind_the_end_is_not_satisfiable(hub):
    answer, body = ask(hub, PATH, Range="bytes=99999999999-")
    assert (answer.status, body) == (416, b"")
    assert answer.headers["Content-Range"].startswith("bytes */")


def test_if_range_of_another_file_gives_the_whole(hub):
    whole, _ = ask(hub, PATH, "HEAD")
    same, _ = ask(hub, PATH, "HEAD", Range="bytes=5-", If_Range=whole.headers["ETag"])
    changed, _ = ask(hub, PATH, "HEAD", Range="bytes=5-", If_Range='"other"')
    assert (same.status, changed.status) == (206, 200)


def test_any_path_ending_in_gguf_is_served_and_nothing_else(hub):
    assert ask(hub, f"/some/where/{FILE}")[0].status == 200
    assert ask(hub, f"/{REPO}/resolve/main/{FILE}")[1] == ask(hub, PATH)[1]
    assert ask(hub, "/etc/passwd")[0].status == 404
    assert ask(hub, "/models/a/b/resolve/master/..%2f..%2fx")[0].status == 404


def test_a_slow_hub_takes_the_time_of_its_clock(hub):
    hub.behaviour = Behaviour(bytes_per_second=1_000_000)
    began = hub.clock.now()
    _, body = ask(hub, PATH)
    assert hub.clock.now() - began == pytest.approx(len(body) / 1_000_000, rel=0.01)


def test_a_cut_body_ends_early_as_often_as_asked(hub):
    hub.behaviour = Behaviour(cut_after_bytes=1000, cuts=1)
    with pytest.raises(http.client.IncompleteRead) as cut:
        ask(hub, PATH)
    assert len(cut.value.partial) == 1000
    answer, rest = ask(hub, PATH, Range="bytes=1000-")
    assert answer.status == 206
    assert hub.tally.cuts == 1
    hub.behaviour = Behaviour()
    assert ask(hub, PATH)[1] == cut.value.partial + rest


def test_wrong_bytes_have_the_right_length(hub):
    _, right = ask(hub, PATH)
    hub.behaviour = Behaviour(wrong_bytes=True)
    _, wrong = ask(hub, PATH)
    assert len(wrong) == len(right)
    assert wrong != right


@pytest.mark.parametrize(
    ("location", "file", "architecture", "head"),
    [
        (REPO, FILE, "qwen35", "present"),
        ("unsloth/Qwen3.6-27B-GGUF", "Qwen3.6-27B-UD-Q4_K_XL.gguf", "qwen35", "absent"),
        ("unsloth/Qwen3.6-35B-A3B-MTP-GGUF", "Qwen3.6-35B-A3B-UD-Q4_K_M.gguf", "qwen35moe", "present"),
        (
            "mirror/unsloth/Qwen3.6-35B-A3B-MTP-GGUF/resolve/main",
            "Qwen3.6-35B-A3B-UD-Q4_K_M.gguf",
            "qwen35moe",
            "present",
        ),
        ("somebody/Other-30B-A3B-GGUF", "other-30b-a3b.gguf", "qwen35moe", "absent"),
        ("somebody/Other-8B-GGUF", "other-8b-mtp-q4.gguf", "qwen35", "present"),
        ("somebody/Attempts", "attempts.gguf", "qwen35", "absent"),
    ],
)
def test_the_stand_in_is_like_the_real_file(location, file, architecture, head):
    variant = variant_for(location, file)
    assert (variant.architecture, variant.head) == (architecture, head)
