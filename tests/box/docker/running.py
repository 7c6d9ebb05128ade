"""An instance whose engine runs in docker: how it is set up, asked and ended, whichever image it runs."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

from deployer.agent.containers import NAME
from deployer.agent.processes import GRACE_SECONDS, SECOND_GRACE_SECONDS
from tests.box.docker.daemon import Docker
from tests.support.waiting import until
from tests.unit.agent.box import KEY, Box
from tests.unit.agent.servers import Metadata

#: Until the agent says ready.
READY_SECONDS = 120.0
DRAFTS = ("--spec-type", "draft-mtp", "--spec-draft-n-max", "2")


def outfit(made: Box, docker: Docker, image: str, model: Path, metadata: Metadata, *words: str) -> None:
    """Give an instance a role, its docker, a model, and a stack that runs the image with drafts. words: more argv."""
    docker.client(made.root / "bin")
    (made.root / "models/m.gguf").unlink()
    (made.root / "models/m.gguf").hardlink_to(model)
    engine = made.config["engine"]
    engine["image"] = image
    engine["argv"] += ["-c", "8192", "-np", "2", *DRAFTS, *words]
    made.config["runtime"] = "docker"
    made.config["deadlines"] |= {"engine_load_s": 90, "ready_s": 90}
    made.environ.update(
        AWS_EC2_METADATA_SERVICE_ENDPOINT=metadata.url, AWS_ENDPOINT_URL_ECR=metadata.url, HOME=str(made.root)
    )


def complete(box: Box, tokens: int = 16, timeout: float = 60.0) -> dict[str, Any]:
    body = {"model": "tiny", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": tokens}
    request = urllib.request.Request(
        f"http://127.0.0.1:{box.port}/v1/chat/completions",
        data=json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return dict(json.load(answer))


def containers(docker: Docker) -> str:
    return docker("ps", "--all", "--format", "{{.Names}}")


def slots(box: Box) -> str:
    request = urllib.request.Request(f"http://127.0.0.1:{box.port}/slots", headers={"Authorization": f"Bearer {KEY}"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return re.sub(r"\s", "", answer.read().decode())


def ends(agent: subprocess.Popen[bytes], docker: Docker) -> None:
    """Stopped, it takes its container with it."""
    agent.send_signal(signal.SIGTERM)
    assert agent.wait(20) == 0
    assert containers(docker) == ""


def ends_with_a_request_in_flight(box: Box, docker: Docker) -> None:
    """A request that would go on for ever does not hold it up."""
    agent = box.start()
    box.said("ready", "done", READY_SECONDS)
    ended = threading.Event()

    def request() -> None:
        try:
            complete(box, tokens=1_000_000, timeout=60)
        except OSError:
            ended.set()

    threading.Thread(target=request, daemon=True).start()
    until(lambda: 'is_processing":true' in slots(box), "a request is being answered", seconds=20)
    began = time.monotonic()
    agent.send_signal(signal.SIGTERM)
    assert agent.wait(30) == 0
    assert time.monotonic() - began < GRACE_SECONDS + SECOND_GRACE_SECONDS + 7
    assert ended.wait(5) and containers(docker) == ""


def forget(docker: Docker, image: str) -> None:
    """No container of ours, and the image has to be pulled again."""
    docker("rm", "--force", NAME, check=False)
    for name in (image, image.partition("@")[0]):
        docker("image", "rm", name, check=False)
