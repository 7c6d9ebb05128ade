"""The docker runtime with a real dockerd, a real registry that wants ECR's login, and real llama.cpp."""

from __future__ import annotations

import json
import re
import signal
import threading
import time
import urllib.request
from typing import Any

import pytest

from deployer.agent.processes import GRACE_SECONDS, SECOND_GRACE_SECONDS
from deployer.rehearsal import tiny_model
from tests.box.docker.conftest import Host
from tests.support.waiting import until
from tests.unit.agent.box import KEY, Box
from tests.unit.agent.servers import Metadata

pytestmark = pytest.mark.box
_SECONDS = 120.0
NAME = "deployer-engine"


def complete(box: Box, tokens: int = 16, timeout: float = 60.0) -> dict[str, Any]:
    body = {"model": "tiny", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": tokens}
    request = urllib.request.Request(
        f"http://127.0.0.1:{box.port}/v1/chat/completions",
        data=json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return dict(json.load(answer))


def containers(host: Host) -> str:
    return host.docker("ps", "--all", "--format", "{{.Names}}")


def test_it_logs_in_pulls_by_digest_and_serves_with_drafts(host: Host, box: Box) -> None:
    agent = box.start()
    ready = box.said("ready", "done", _SECONDS)
    assert ready["detail"]["draft_n_accepted"] > 0
    assert complete(box)["timings"]["draft_n_accepted"] > 0
    assert box.lines("image", "done")[0]["detail"] == {"image": host.image}
    found = json.loads(host.docker("inspect", NAME))[0]
    rights = found["HostConfig"]
    assert (rights["Privileged"], rights["CapDrop"], rights["NetworkMode"]) == (False, ["ALL"], "host")
    assert found["Config"]["User"] == "10001:10001"
    assert [mount["RW"] for mount in found["Mounts"]] == [False, False]
    secrets = (KEY, Metadata().value)
    assert not [text for text in (box.console(), json.dumps(found)) for secret in secrets if secret in text]
    login = box.root / "run/deployer/config.json"
    assert login.stat().st_mode & 0o777 == 0o600
    agent.send_signal(signal.SIGTERM)
    assert agent.wait(20) == 0
    assert containers(host) == ""


def test_it_stops_with_a_request_in_flight(host: Host, box: Box) -> None:
    agent = box.start()
    box.said("ready", "done", _SECONDS)
    ended = threading.Event()

    def ask() -> None:
        try:
            complete(box, tokens=1_000_000, timeout=60)
        except OSError:
            ended.set()

    threading.Thread(target=ask, daemon=True).start()
    until(lambda: 'is_processing":true' in slots(box), "a request is being answered", seconds=20)
    began = time.monotonic()
    agent.send_signal(signal.SIGTERM)
    assert agent.wait(30) == 0
    assert time.monotonic() - began < GRACE_SECONDS + SECOND_GRACE_SECONDS + 7
    assert ended.wait(5) and containers(host) == ""


def slots(box: Box) -> str:
    request = urllib.request.Request(f"http://127.0.0.1:{box.port}/slots", headers={"Authorization": f"Bearer {KEY}"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return re.sub(r"\s", "", answer.read().decode())


def test_an_engine_that_crashes_is_started_again(host: Host, box: Box) -> None:
    box.start()
    box.said("ready", "done", _SECONDS)
    # As the kernel does when memory is full; the first process of a container does not feel other signals.
    host.docker("kill", "--signal", "KILL", NAME)
    restarting = box.said("engine", "restarting", 30)
    assert restarting["code"] == "out_of_memory" and "137" in restarting["message"]
    until(lambda: len(box.lines("ready", "done")) == 2, "it is ready again", seconds=_SECONDS)
    assert complete(box)["timings"]["draft_n_accepted"] > 0


def test_keys_of_an_mtp_head_without_its_tensors(host: Host, box: Box) -> None:
    tiny_model.write_variant(box.root / "models/m.gguf", tiny_model.Variant("qwen35", "missing-tensors"))
    assert box.run() == 1
    failure = box.failure()
    assert (failure["phase"], failure["code"]) == ("engine", "mtp_missing_in_gguf")


def test_a_killed_agent_leaves_nothing_that_stands_in_the_next_one_s_way(host: Host, box: Box) -> None:
    box.start().kill()
    first = box.start()
    box.said("ready", "done", _SECONDS)
    first.kill()
    first.wait()
    box.start()
    until(lambda: len(box.lines("ready", "done")) == 2, "the next one is ready", seconds=_SECONDS)
    assert containers(host) == NAME
    assert complete(box)["choices"]


def test_an_image_that_is_not_there(host: Host, box: Box) -> None:
    box.config["engine"]["image"] = host.image.partition("@")[0] + "@sha256:" + "0" * 64
    assert box.run() == 1
    failure = box.failure()
    assert (failure["phase"], failure["code"]) == ("image", "image_pull")
    assert "manifest for" in failure["log"][-1]


def test_a_registry_that_does_not_take_the_login(host: Host, box: Box, metadata: Metadata) -> None:
    metadata.value = "another-token-0123456789"
    assert box.run() == 1
    failure = box.failure()
    assert (failure["phase"], failure["code"]) == ("image", "image_pull")
    assert "401" in " ".join(failure["log"]) and metadata.value not in box.console()


def test_no_daemon(box: Box) -> None:
    client = box.root / "bin/docker"
    client.write_text(re.sub(r"unix://\S+", "unix:///nowhere", client.read_text()))
    assert box.run() == 1
    assert (box.failure()["phase"], box.failure()["code"]) == ("runtime", "runtime_missing")
