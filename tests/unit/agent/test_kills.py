"""An agent that is killed at any byte of a download by several connections goes on where it was."""

from __future__ import annotations

import contextlib
import os
import random
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deployer.rehearsal.weights import Behaviour, Served, WeightServer
from tests.unit.agent.box import Box, wait_until

REPO, FILE = "unsloth/Qwen3.6-27B-MTP-GGUF", "m.gguf"
PIECE = 256 * 1024
KILLS = 10


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WeightServer]:
    server = WeightServer(tmp_path_factory.mktemp("hub"), padding_mib=12).start()
    yield server
    server.close()


@pytest.fixture
def served(box: Box, hub: WeightServer) -> Served:
    hub.behaviour = Behaviour(bytes_per_second=2.5e6)
    served = hub.file(REPO, FILE)
    box.sources(f"{hub.url}/models/{REPO}/resolve/master/{FILE}")
    box.config["weights"].update(sha256=served.digest, connections=4, piece_bytes=PIECE)
    box.program("")
    return served


def fetched(box: Box) -> int:
    """Bytes that came over the wire, as the ledger says."""
    with contextlib.suppress(OSError):
        data = Path(f"{box.weights}.part.have").read_bytes()[:24]
        if len(data) == 24:
            return int(struct.unpack("<16sQ", data)[1])
    return 0


def kill_at(box: Box, agent: subprocess.Popen[bytes], byte: int) -> None:
    wait_until(lambda: fetched(box) >= byte or agent.poll() is not None)
    assert agent.poll() is None, box.console()[-2000:]
    agent.kill()
    agent.wait()


def finish(box: Box, served: Served) -> dict[str, int]:
    box.start()
    line = box.said("weights", "done", 30)
    assert box.weights.read_bytes() == served.path.read_bytes()
    assert sorted(path.name for path in box.weights.parent.iterdir()) == ["m.gguf", "m.gguf.json"]
    detail: dict[str, int] = line["detail"]
    return detail


def test_killed_at_any_byte_it_resumes(box: Box, hub: WeightServer, served: Served) -> None:
    source = random.Random(os.environ.get("PYTEST_SEED", "kills"))
    for byte in sorted(source.randrange(1, served.size) for _ in range(KILLS)):
        kill_at(box, box.start(), byte)
    detail = finish(box, served)
    assert detail["fetched_twice"] < served.size / 100
    # The whole of it was fetched in parts by eleven runs; the last one had little to do.
    assert 0 < detail["received"] < served.size
    assert detail["resumed_at"] + detail["received"] - served.size <= detail["fetched_twice"]


def test_cut_connections_and_kills_together(box: Box, hub: WeightServer, served: Served) -> None:
    hub.behaviour = Behaviour(bytes_per_second=4e6, cut_after_bytes=100_001, cuts=40)
    kill_at(box, box.start(), served.size // 3)
    kill_at(box, box.start(), served.size * 2 // 3)
    assert finish(box, served)["fetched_twice"] < served.size / 100


def test_a_machine_that_crashed_counts_only_what_reached_the_disk(box: Box, served: Served) -> None:
    kill_at(box, box.start(), served.size // 2)
    ledger = Path(f"{box.weights}.part.have")
    before = fetched(box)
    # Another boot: nothing was brought to the disk yet, so nothing of it can be trusted.
    ledger.write_bytes(bytes(15) + b"\1" + ledger.read_bytes()[16:])
    detail = finish(box, served)
    assert detail["resumed_at"] == 0
    assert detail["fetched_twice"] == before
    assert "were fetched twice" in box.console()


def test_several_connections_are_several_times_as_fast(box: Box, hub: WeightServer, served: Served) -> None:
    detail = finish(box, served)
    seconds = box.lines("weights", "done")[0]["seconds"]
    one = served.size / 2.5e6
    assert detail["received"] == served.size and detail["fetched_twice"] == 0
    assert seconds < one * 0.6
