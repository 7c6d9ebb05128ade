"""Sources that cannot be reached, and what a hub lists about a file."""

from __future__ import annotations

import hashlib
import json
import socket
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

import pytest

from deployer.agent import download, web
from deployer.agent.stop import Stop
from tests.unit.agent.box import Box
from tests.unit.agent.servers import FileServer, Metadata, Served
from tests.unit.agent.weights_phase import BODY, OTHER, SHA, Run


class TestUnreachable:
    """A host that has no address, refuses or is behind a proxy that lets nothing out. Pauses are as on an instance."""

    @pytest.fixture(autouse=True)
    def pauses(self, box: Box, monkeypatch: pytest.MonkeyPatch) -> list[float]:
        asked: list[float] = []
        monkeypatch.setattr(Stop, "pause", lambda _, seconds: asked.append(seconds) if seconds else None)
        box.config["deadlines"]["retry_s"] = 0.5
        return asked

    @pytest.mark.parametrize("url", ["http://127.0.0.1:9/x", "http://nowhere.invalid/x"])
    def test_one_quick_retry_then_the_next_source(
        self, box: Box, files: FileServer, run: Run, pauses: list[float], url: str
    ) -> None:
        files.files["/file"] = Served(BODY)
        box.sources(url, files.url + "/file")
        run.done()
        assert pauses == [1.0]

    def test_the_last_source_gets_little_more(self, box: Box, run: Run, pauses: list[float]) -> None:
        box.sources(
            "http://nowhere.invalid/x", "http://127.0.0.1:9/x", listing="http://127.0.0.1:9/l", kind="modelscope"
        )
        line = run.failed()
        assert line["code"] == "weights_download"
        assert "urlopen error" in line["message"]
        assert sum(pauses) <= 7

    def test_a_network_that_is_late_is_waited_for(
        self, box: Box, files: FileServer, run: Run, pauses: list[float], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        files.files["/file"] = Served(BODY)
        box.sources(files.url.replace("127.0.0.1", "localhost") + "/file")
        box.config["deadlines"]["network_s"] = 60
        real, misses = socket.getaddrinfo, list(range(11))

        def late(*what: Any, **how: Any) -> Any:
            if misses:
                misses.pop()
                raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
            return real(*what, **how)

        monkeypatch.setattr(socket, "getaddrinfo", late)
        run.done()
        assert sum(pauses) > 10
        said = [line.get("message", "") for line in box.lines("weights", "progress")]
        assert any(text.startswith("waiting for the network") for text in said)

    def test_a_role_that_is_not_known_yet_is_waited_for(
        self,
        box: Box,
        files: FileServer,
        metadata: Metadata,
        run: Run,
        pauses: list[float],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.url)
        monkeypatch.setenv("AWS_ENDPOINT_URL", files.url)
        files.files["/models/m.gguf"] = Served(BODY, statuses=[403, 403])
        box.sources("https://models.s3.cn-northwest-1.example/m.gguf", kind="s3")
        box.config["deadlines"]["network_s"] = 60
        run.done()

    def test_a_proxy_that_refuses(
        self, box: Box, files: FileServer, run: Run, pauses: list[float], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(web, "_OUTSIDE", build_opener(ProxyHandler({"https": files.url})))
        box.sources("https://nowhere.invalid/x")
        assert "Tunnel connection failed" in run.failed()["message"]
        assert sum(pauses) <= 3

    def test_a_wrong_file_is_final_and_said_first(
        self, box: Box, files: FileServer, run: Run, pauses: list[float]
    ) -> None:
        files.files["/file"] = Served(OTHER)
        box.config["weights"]["sha256"] = SHA
        box.sources("http://nowhere.invalid/x", files.url + "/file")
        line = run.failed()
        assert line["code"] == "weights_checksum"
        assert line["message"].startswith(files.url + "/file: sha256 is")
        assert files.count("/file") == 1
        assert pauses == [1.0]

    def test_a_begun_file_is_worth_waiting_for(
        self, box: Box, files: FileServer, run: Run, pauses: list[float]
    ) -> None:
        files.files["/other"] = Served(BODY)
        box.sources("http://127.0.0.1:9/x", files.url + "/other")
        part = Path(f"{box.weights}.part")
        part.parent.mkdir(parents=True)
        part.write_bytes(BODY[:100_000])
        Path(f"{part}.json").write_text(json.dumps({"url": "http://127.0.0.1:9/x", "total": len(BODY)}))
        run.done()
        assert len(pauses) == download.TRIES - 1


class TestListing:
    def test_its_digest_pins(self, box: Box, files: FileServer, run: Run) -> None:
        files.files["/file"] = Served(BODY)
        listing = files.listing({"Name": "x", "Path": "x"}, {"Path": "m.gguf", "Size": len(BODY), "Sha256": SHA})
        box.sources(files.url + "/file", listing=listing, kind="modelscope")
        assert run.done()["detail"]["pinned_by"] == "listing"

    def test_another_file_than_listed(self, box: Box, files: FileServer, run: Run) -> None:
        files.files["/file"] = Served(OTHER)
        listing = files.listing({"Name": "m.gguf", "Size": len(BODY), "Sha256": SHA})
        box.sources(files.url + "/file", listing=listing, kind="modelscope")
        assert run.failed()["code"] == "weights_checksum"

    def test_another_size_is_seen_before_the_download(self, box: Box, files: FileServer, run: Run) -> None:
        files.files["/file"] = Served(BODY + b"x")
        listing = files.listing({"Name": "m.gguf", "Size": len(BODY), "Sha256": SHA})
        box.sources(files.url + "/file", listing=listing, kind="modelscope")
        assert run.failed()["code"] == "weights_checksum"
        assert Path(f"{box.weights}.part").stat().st_size == 0

    def test_it_contradicts_the_spec(self, box: Box, files: FileServer, run: Run) -> None:
        files.files["/file"] = Served(OTHER)
        box.config["weights"]["sha256"] = SHA
        listing = files.listing({"Name": "m.gguf", "Size": 1, "Sha256": hashlib.sha256(OTHER).hexdigest()})
        box.sources(files.url + "/file", listing=listing, kind="modelscope")
        assert run.failed()["code"] == "weights_checksum"
        assert files.count("/file") == 0

    @pytest.mark.parametrize("body", [b"{}", b"<html>", b'{"Data":{"Files":[]}}', b'{"Data":null}', None])
    def test_without_a_usable_one_it_goes_on_and_says_so(
        self, box: Box, files: FileServer, run: Run, body: bytes | None
    ) -> None:
        files.files["/file"] = Served(BODY)
        if body is not None:
            files.files["/listing"] = Served(body)
        box.sources(files.url + "/file", listing=files.url + "/listing", kind="modelscope")
        assert run.done()["detail"]["pinned_by"] is None
        assert "listing cannot be used" in box.console()
