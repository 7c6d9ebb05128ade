"""The docker runtime with a real dockerd, a real registry that wants ECR's login, and real llama.cpp."""

from __future__ import annotations

import json
import re

import pytest

from deployer.agent.containers import NAME
from deployer.rehearsal import tiny_model
from tests.box.docker.conftest import Host
from tests.box.docker.running import READY_SECONDS, complete, containers, ends, ends_with_a_request_in_flight
from tests.support.waiting import until
from tests.unit.agent.box import KEY, Box
from tests.unit.agent.servers import Metadata

pytestmark = pytest.mark.box


def test_it_logs_in_pulls_by_digest_and_serves_with_drafts(host: Host, box: Box) -> None:
    agent = box.start()
    ready = box.said("ready", "done", READY_SECONDS)
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
    ends(agent, host.docker)


def test_it_stops_with_a_request_in_flight(host: Host, box: Box) -> None:
    ends_with_a_request_in_flight(box, host.docker)


def test_an_engine_that_crashes_is_started_again(host: Host, box: Box) -> None:
    box.start()
    box.said("ready", "done", READY_SECONDS)
    # As the kernel does when memory is full; the first process of a container does not feel other signals.
    host.docker("kill", "--signal", "KILL", NAME)
    restarting = box.said("engine", "restarting", 30)
    assert restarting["code"] == "out_of_memory" and "137" in restarting["message"]
    until(lambda: len(box.lines("ready", "done")) == 2, "it is ready again", seconds=READY_SECONDS)
    assert complete(box)["timings"]["draft_n_accepted"] > 0


def test_keys_of_an_mtp_head_without_its_tensors(host: Host, box: Box) -> None:
    tiny_model.write_variant(box.root / "models/m.gguf", tiny_model.Variant("qwen35", "missing-tensors"))
    assert box.run() == 1
    failure = box.failure()
    assert (failure["phase"], failure["code"]) == ("engine", "mtp_missing_in_gguf")


def test_a_killed_agent_leaves_nothing_that_stands_in_the_next_one_s_way(host: Host, box: Box) -> None:
    box.start().kill()
    first = box.start()
    box.said("ready", "done", READY_SECONDS)
    first.kill()
    first.wait()
    box.start()
    until(lambda: len(box.lines("ready", "done")) == 2, "the next one is ready", seconds=READY_SECONDS)
    assert containers(host.docker) == NAME
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
