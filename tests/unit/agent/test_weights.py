"""Downloads from real servers that behave well and badly."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from deployer.agent import download
from tests.unit.agent.box import Box
from tests.unit.agent.servers import FileServer, Metadata, Served
from tests.unit.agent.weights_phase import BODY, OTHER, SHA, Run


def offsets(files: FileServer) -> list[str | None]:
    return [headers.get("Range") for path, headers in files.requests if path == "/file"]


def test_plain(box: Box, files: FileServer, run: Run) -> None:
    files.files["/file"] = Served(BODY)
    box.sources(files.url + "/file")
    line = run.done()
    assert line["detail"]["pinned_by"] is None
    assert line["bytes"] == line["total_bytes"] == len(BODY)
    assert "not pinned" in box.console()


def test_a_finished_file_is_not_asked_for_again(box: Box, files: FileServer, run: Run) -> None:
    files.files["/file"] = Served(BODY)
    box.sources(files.url + "/file")
    run.done()
    assert run.done()["message"] == "already here"
    assert files.count("/file") == 1


@pytest.mark.parametrize("change", ["content", "url", "pin"])
def test_a_finished_file_that_is_not_the_wanted_one_is_replaced(
    box: Box, files: FileServer, run: Run, change: str
) -> None:
    files.files["/file"] = Served(BODY)
    files.files["/old"] = Served(OTHER)
    box.sources(files.url + "/old")
    if change == "content":
        box.sources(files.url + "/file")
        run()
        box.weights.write_bytes(OTHER)
    else:
        run()
        box.sources(files.url + "/file")
    if change == "pin":
        box.config["weights"]["sha256"] = SHA
    run.done()


def test_a_pinned_file_that_somebody_else_put_there_is_adopted(box: Box, run: Run) -> None:
    box.weights.parent.mkdir(parents=True)
    box.weights.write_bytes(BODY)
    box.config["weights"]["sha256"] = SHA
    box.sources("http://127.0.0.1:9/none")
    assert run.done()["detail"]["pinned_by"] == "spec"


@pytest.mark.parametrize("length", [True, False])
def test_cut_connections_are_resumed(box: Box, files: FileServer, run: Run, length: bool) -> None:
    files.files["/file"] = Served(BODY, cut_after=100_000, cuts=3, length=length)
    box.sources(files.url + "/file")
    box.config["weights"]["sha256"] = SHA
    box.config["weights"]["size_bytes"] = len(BODY)
    line = run()
    if length:
        assert line["state"] == "done"
        assert offsets(files) == [None, "bytes=100000-", "bytes=200000-", "bytes=300000-"]
        assert line["detail"]["received"] == len(BODY)
    else:
        # Without a length a cut looks like the end; the pinned size shows it.
        assert line["code"] == "weights_checksum"


def test_a_server_without_ranges_is_started_over(box: Box, files: FileServer, run: Run) -> None:
    files.files["/file"] = Served(BODY, ranges=False, cut_after=100_000, cuts=1)
    box.sources(files.url + "/file")
    box.config["weights"]["sha256"] = SHA
    assert run.done()["detail"]["received"] == len(BODY) + 100_000


@pytest.mark.parametrize("heed", [True, False], ids=["if-range", "ignores-if-range"])
def test_a_changed_file_is_not_spliced(box: Box, files: FileServer, run: Run, heed: bool) -> None:
    served = files.files["/file"] = Served(OTHER, cut_after=100_000, cuts=99)
    box.sources(files.url + "/file")
    box.config["deadlines"]["retry_s"] = 0.001
    run()  # ends somewhere, with a part of the old file
    shutil.rmtree(box.weights.parent)
    served.cuts = 1
    box.weights.parent.mkdir(parents=True)
    Path(f"{box.weights}.part").write_bytes(OTHER[:100_000])
    meta = {"url": files.url + "/file", "total": len(BODY), "etag": '"1"', "modified": None}
    Path(f"{box.weights}.part.json").write_text(json.dumps(meta))
    files.files["/file"] = Served(BODY, etag='"2"', heed_if_range=heed)
    run.done()


def test_a_part_of_another_source_is_not_continued(box: Box, files: FileServer, run: Run) -> None:
    files.files["/file"] = Served(BODY)
    box.weights.parent.mkdir(parents=True)
    Path(f"{box.weights}.part").write_bytes(OTHER[:1000])
    Path(f"{box.weights}.part.json").write_text(json.dumps({"url": "http://elsewhere/x", "total": len(BODY)}))
    box.sources(files.url + "/file")
    run.done()
    assert offsets(files) == [None]


def test_the_source_of_a_begun_part_comes_first(box: Box, files: FileServer, run: Run) -> None:
    files.files["/file"] = Served(BODY)
    box.weights.parent.mkdir(parents=True)
    Path(f"{box.weights}.part").write_bytes(BODY[:1000])
    meta = {"url": files.url + "/file", "total": len(BODY), "etag": '"1"', "modified": None}
    Path(f"{box.weights}.part.json").write_text(json.dumps(meta))
    box.sources(files.url + "/first", files.url + "/file")
    run.done()
    assert offsets(files) == ["bytes=1000-"]
    assert files.count("/first") == 0


@pytest.mark.parametrize("junk", [b"", b"{", b"[]", b'{"url": 1}'])
def test_a_broken_sidecar_means_a_new_start(box: Box, files: FileServer, run: Run, junk: bytes) -> None:
    files.files["/file"] = Served(BODY)
    box.weights.parent.mkdir(parents=True)
    Path(f"{box.weights}.part").write_bytes(b"rubbish")
    Path(f"{box.weights}.part.json").write_bytes(junk)
    Path(f"{box.weights}.json").write_bytes(junk)
    box.sources(files.url + "/file")
    run.done()


def test_a_part_longer_than_the_file(box: Box, files: FileServer, run: Run) -> None:
    files.files["/file"] = Served(BODY)
    box.weights.parent.mkdir(parents=True)
    Path(f"{box.weights}.part").write_bytes(BODY + b"more")
    meta = {"url": files.url + "/file", "total": len(BODY) + 9, "etag": '"1"', "modified": None}
    Path(f"{box.weights}.part.json").write_text(json.dumps(meta))
    box.sources(files.url + "/file")
    run.done()


def test_transient_answers_are_tried_again(box: Box, files: FileServer, run: Run) -> None:
    files.files["/file"] = Served(BODY, statuses=[503, 429, 500])
    box.sources(files.url + "/file")
    run.done()


def test_a_source_is_given_up_after_bounded_tries(box: Box, files: FileServer, run: Run) -> None:
    files.files["/file"] = Served(BODY, statuses=[503] * 99)
    box.sources(files.url + "/file")
    line = run.failed()
    assert line["code"] == "weights_download"
    assert "HTTP 503" in line["message"]
    assert files.count("/file") == download.TRIES


def test_redirects_are_followed(box: Box, files: FileServer, run: Run) -> None:
    files.files["/file"] = Served(BODY)
    box.sources(files.url + "/moved")
    run.done()


def test_the_next_source_is_tried(box: Box, files: FileServer, run: Run) -> None:
    files.files["/good"] = Served(BODY)
    files.files["/wrong"] = Served(OTHER)
    files.files["/short"] = Served(BODY[:-1])
    box.config["weights"]["sha256"] = SHA
    box.sources(*(files.url + path for path in ("/missing", "/short", "/wrong", "/good")), "http://127.0.0.1:9/never")
    run.done()
    failed = [
        line["message"] for line in box.lines("weights", "progress") if "source failed" in line.get("message", "")
    ]
    assert [path in text for path, text in zip(("404", "expected", "sha256"), failed, strict=True)] == [True] * 3


def test_wrong_bytes_everywhere(box: Box, files: FileServer, run: Run) -> None:
    files.files["/file"] = Served(OTHER)
    box.config["weights"]["sha256"] = SHA
    box.sources(files.url + "/file")
    line = run.failed()
    assert line["code"] == "weights_checksum"
    assert SHA in line["message"]
    assert not Path(f"{box.weights}.part").exists()


def test_a_page_instead_of_a_model(box: Box, files: FileServer, run: Run) -> None:
    files.files["/file"] = Served(b"<html>sign in</html>")
    box.sources(files.url + "/file")
    assert "not a GGUF" in run.failed()["message"]


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/x", "ftp://127.0.0.1/x", "http://[/x", "nonsense"])
def test_unusable_sources(box: Box, run: Run, url: str) -> None:
    box.sources(url)
    assert run.failed()["code"] == "weights_download"


def test_no_source_at_all(box: Box, run: Run) -> None:
    box.sources()
    assert run.failed()["code"] == "weights_download"


class TestFileSource:
    def test_it_is_linked_not_copied(self, box: Box, run: Run) -> None:
        (box.root / "models/m.gguf").write_bytes(BODY)
        run.done()
        assert box.weights.samefile(box.root / "models/m.gguf")
        assert run.done()["message"] == "already here"

    def test_missing(self, box: Box, run: Run) -> None:
        (box.root / "models/m.gguf").unlink()
        assert run.failed()["code"] == "weights_download"

    def test_another_than_pinned(self, box: Box, run: Run) -> None:
        box.config["weights"]["sha256"] = SHA
        assert run.failed()["code"] == "weights_checksum"

    @pytest.mark.parametrize("runtime", ["process", "docker"])
    def test_another_file_system(self, box: Box, run: Run, runtime: str, monkeypatch: pytest.MonkeyPatch) -> None:
        def no_link(*_: object) -> None:
            raise OSError(18, "Invalid cross-device link")

        monkeypatch.setattr("os.link", no_link)
        (box.root / "models/m.gguf").write_bytes(BODY)
        box.config["runtime"] = runtime
        run.done()
        # A container could not follow a link out of its mount.
        assert box.weights.is_symlink() == (runtime == "process")


def test_a_volume_that_is_too_small(box: Box, files: FileServer, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "RESERVE_BYTES", 2**60)
    files.files["/file"] = Served(BODY)
    box.sources(files.url + "/file")
    line = run.failed()
    assert line["code"] == "disk_full"
    assert "GiB" in line["message"]
    assert files.count("/file") == 1


def test_a_disk_that_takes_no_more(box: Box, files: FileServer) -> None:
    files.files["/file"] = Served(BODY)
    box.sources(files.url + "/file")
    box.program("")
    box.file_limit = 200_000
    assert box.run() == 1
    failure = box.failure()
    assert (failure["phase"], failure["code"]) == ("weights", "disk_full")
    assert files.count("/file") == 1


def test_s3_is_signed_with_the_role(
    box: Box, files: FileServer, metadata: Metadata, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.url)
    monkeypatch.setenv("AWS_ENDPOINT_URL", files.url)
    files.files["/models/a%20b/m.gguf"] = Served(BODY, cut_after=100_000, cuts=1)
    box.sources("https://models.s3.cn-northwest-1.example/a%20b/m.gguf", kind="s3")
    run.done()
    (_, first), (_, second) = files.requests
    assert first["Authorization"].startswith("AWS4-HMAC-SHA256 Credential=ASIAROLE/")
    assert first["X-Amz-Content-Sha256"] == "UNSIGNED-PAYLOAD"
    assert second["Range"] == "bytes=100000-"


def test_progress_is_said_sparingly(box: Box, files: FileServer, run: Run) -> None:
    files.files["/file"] = Served(BODY)
    box.sources(files.url + "/file")
    run.done()
    percents = [line["percent"] for line in box.lines("weights", "progress") if "percent" in line]
    assert len(percents) <= 10
    assert percents == sorted(percents)
