"""Nobody asks anything: the instance ends, not earlier and not never."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from deployer.agent.idle import Idleness
from deployer.agent.readiness import Usage
from tests.unit.agent.box import KEY, Box, wait_until
from tests.unit.agent.engines import serving
from tests.unit.agent.servers import Metadata

LIMIT, PATIENCE = 600.0, 900.0
RECORD = "/deployer/stacks/t"


def usage(asked: int = 0, *, busy: bool = False) -> Usage:
    return Usage({"prompt_tokens_total": float(asked)}, busy)


def left_after(looks: list[tuple[float, Usage | None]]) -> float:
    """Seconds left after these looks; looks: seconds since ready, what the engine told."""
    idleness = Idleness(LIMIT, PATIENCE, 0.0)
    return [idleness.take(seen, now) for now, seen in looks][-1]


@pytest.mark.parametrize(
    ("looks", "left"),
    [
        pytest.param([(10.0, usage())], 600.0, id="the first answer is the start"),
        pytest.param([(10.0, usage()), (310.0, usage())], 300.0, id="nothing was asked"),
        pytest.param([(10.0, usage()), (610.0, usage())], 0.0, id="nothing was asked for long enough"),
        pytest.param([(10.0, usage()), (310.0, usage(7))], 600.0, id="a request between two looks"),
        pytest.param([(10.0, usage(7)), (310.0, usage(2))], 600.0, id="the engine was started anew meanwhile"),
        pytest.param([(10.0, usage()), (310.0, usage(busy=True)), (320.0, usage())], 590.0, id="one in flight"),
        pytest.param([(10.0, usage()), (310.0, None), (610.0, None)], 600.0, id="no answer yet is no idleness"),
        pytest.param([(10.0, usage()), (310.0, usage()), (610.0, None)], 300.0, id="no answer stops the count"),
        pytest.param([(10.0, usage()), (900.0, None), (1510.0, None)], -10.0, id="no answer for ever is idleness"),
        pytest.param([(10.0, usage()), (900.0, None), (1000.0, usage())], 500.0, id="an answer without use after one"),
    ],
)
def test_what_is_left(looks: list[tuple[float, Usage | None]], left: float) -> None:
    assert left_after(looks) == left


@pytest.fixture
def idle_box(box: Box) -> Box:
    """A box that ends after 1 s without a request, with a systemctl that writes down what it was told."""
    box.config["idle_s"] = 1.0
    box.program(
        "import os, sys, time\n"
        "with open(os.environ['DEPLOYER_AGENT_ROOT'] + '/said', 'a') as said:\n"
        "    print(time.time(), *sys.argv[1:], file=said)\n",
        name="systemctl",
    )
    return box


def said(box: Box) -> list[tuple[float, str]]:
    path: Path = box.root / "said"
    lines = path.read_text().splitlines() if path.exists() else []
    return [(float(line.partition(" ")[0]), line.partition(" ")[2]) for line in lines]


def power_off(box: Box) -> float:
    """When the box powered itself off."""
    return float(wait_until(lambda: [at for at, words in said(box) if words == "poweroff"], 10.0)[0])


def ask(box: Box) -> None:
    request = urllib.request.Request(
        f"http://127.0.0.1:{box.port}/v1/chat/completions",
        data=b"{}",
        headers={"Authorization": f"Bearer {KEY}"},
    )
    urllib.request.urlopen(request, timeout=10).read()


@pytest.mark.parametrize("no_metrics", [False, True])
def test_it_ends_after_the_last_request_and_says_so_before(idle_box: Box, *, no_metrics: bool) -> None:
    idle_box.program(serving(held=str(idle_box.root / "release"), no_metrics=no_metrics))
    idle_box.start()
    idle_box.said("ready", "done")
    assert wait_until(lambda: said(idle_box))[0][1] == "stop deployer-idle.timer"
    # Told, then used again: a request that lasts longer than what was left.
    told = idle_box.said("idle", "progress")
    assert told["detail"]["ends_at"] == pytest.approx(told["ts"] + 0.5, abs=0.2)
    asking = threading.Thread(target=ask, args=(idle_box,))
    asking.start()
    idle_box.said("idle", "done")
    wait_until(lambda: time.time() > told["detail"]["ends_at"])
    (idle_box.root / "release").touch()
    asking.join()
    answered = time.time()
    ended = power_off(idle_box)
    assert 0.8 < ended - answered < 3.0
    last = idle_box.lines("idle", "progress")[-1]
    assert "ends now" in last["message"] and last["detail"]["ends_at"] <= ended


def test_what_extend_wrote_is_kept_to(idle_box: Box, metadata: Metadata) -> None:
    # Later than a busy machine needs to start the agent.
    keep = time.time() + 5
    metadata.parameters = {RECORD: json.dumps({"keep_until": keep})}
    idle_box.config |= {"record": RECORD, "ssm_endpoint": metadata.url}
    idle_box.environ |= {"AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.url}
    idle_box.program(serving())
    idle_box.start()
    told: dict[str, Any] = idle_box.said("idle", "progress")
    assert told["detail"]["ends_at"] == pytest.approx(keep, abs=0.01)
    assert power_off(idle_box) >= keep
