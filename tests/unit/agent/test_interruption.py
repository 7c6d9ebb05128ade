"""AWS takes a spot instance back: who is being served is served to the end, nobody else, and nothing starts again."""

from __future__ import annotations

import threading
import time
import urllib.request

import pytest

from tests.unit.agent.box import KEY, Box, wait_until
from tests.unit.agent.engines import serving
from tests.unit.agent.servers import Metadata

ACTION = "spot/instance-action"
IPTABLES = "import os, sys\nprint(*sys.argv[1:], file=open(os.environ['DEPLOYER_AGENT_ROOT'] + '/said', 'a'))\n"


@pytest.fixture
def spot_box(box: Box, metadata: Metadata) -> Box:
    """A box on spot whose metadata is looked at all the time."""
    box.config["spot_poll_s"] = 0.05
    box.environ["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = metadata.url
    return box


def notice(seconds: float) -> dict[str, str]:
    return {"action": "terminate", "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))}


class Asking(threading.Thread):
    """One request; status: of its answer, 0 when it was cut."""

    def __init__(self, box: Box) -> None:
        super().__init__(daemon=True)
        self._request = urllib.request.Request(
            f"http://127.0.0.1:{box.port}/v1/chat/completions", data=b"{}", headers={"Authorization": f"Bearer {KEY}"}
        )
        self.status: int | None = None
        self.start()

    def run(self) -> None:
        try:
            self.status = urllib.request.urlopen(self._request, timeout=20).status
        except OSError:
            self.status = 0


def test_requests_in_flight_are_answered_and_then_nothing_serves(spot_box: Box, metadata: Metadata) -> None:
    spot_box.program(IPTABLES, name="iptables")
    spot_box.program(serving(held=str(spot_box.root / "release")))
    agent = spot_box.start()
    spot_box.said("ready", "done")
    metadata.notices["events/recommendations/rebalance"] = {"noticeTime": "2026-12-01T00:00:00Z"}
    spot_box.said("interruption", "progress")
    asking = Asking(spot_box)
    wait_until(lambda: asking.is_alive())
    metadata.notices[ACTION] = notice(100)
    told = spot_box.said("interruption", "start")
    assert told["detail"]["ends_at"] == pytest.approx(time.time() + 100, abs=3)
    assert (told["detail"]["action"], told["detail"]["connections"]) == ("terminate", 1)
    (spot_box.root / "release").touch()
    done = spot_box.said("interruption", "done")
    asking.join(10)
    assert (asking.status, done["detail"]["connections"]) == (200, 0)
    assert (spot_box.root / "said").read_text().split() == [
        *("-w", "-I", "INPUT", "-p", "tcp", "--dport", str(spot_box.port), "--syn"),
        *("-j", "REJECT", "--reject-with", "tcp-reset"),
    ]
    with pytest.raises(OSError):
        urllib.request.urlopen(f"http://127.0.0.1:{spot_box.port}/health", timeout=2)
    # It stays, so that its service starts nothing again, and ends well when the machine does.
    assert agent.poll() is None
    assert not spot_box.lines("engine", "restarting")
    agent.terminate()
    assert agent.wait(10) == 0


def test_what_does_not_end_in_time_is_cut(spot_box: Box, metadata: Metadata) -> None:
    spot_box.program(serving(held=str(spot_box.root / "never")))
    spot_box.start()
    spot_box.said("ready", "done")
    asking = Asking(spot_box)
    wait_until(lambda: asking.is_alive())
    metadata.notices[ACTION] = notice(13)
    done = spot_box.said("interruption", "done", 10.0)
    asking.join(10)
    assert (asking.status, done["detail"]["connections"]) == (0, 1)
    # There is no iptables on this box, and that is told.
    [problem] = spot_box.lines("interruption", "progress")
    assert "iptables" in problem["message"]


def test_a_notice_before_the_engine_runs_starts_none(spot_box: Box, metadata: Metadata) -> None:
    metadata.notices[ACTION] = notice(100)
    spot_box.program(serving(loading=10**6))
    agent = spot_box.start()
    spot_box.said("interruption", "done")
    assert agent.poll() is None
    assert not spot_box.lines("ready")
