"""What the agent says of its instance's end, as `status` and the ladder take it."""

from __future__ import annotations

import pytest

from deployer.agent.protocol import encode_line
from deployer.errors import NotHealthyError
from deployer.events import ignore
from deployer.health.agent import AgentPhases
from deployer.health.console import ConsoleReader
from deployer.health.notices import idle_end
from deployer.health.phases import latest

READY = encode_line("ready", "done", 5.0, detail={})
IDLE = encode_line("idle", "progress", 10.0, message="no request", detail={"ends_at": 100.0})
USED = encode_line("idle", "done", 11.0, message="in use again")
NOTE = encode_line("interruption", "progress", 12.0, message="more likely than usual")
TAKEN = encode_line("interruption", "start", 13.0, detail={"ends_at": 1_800_000_000.0})
DRAINED = encode_line("interruption", "done", 14.0, detail={"ends_at": 1_800_000_000.0})
BOOT = encode_line("boot", "start", 20.0)


@pytest.mark.parametrize(
    ("lines", "kept", "end"),
    [
        ([READY], 0.0, None),
        ([READY, IDLE], 0.0, 100.0),
        ([READY, IDLE], 250.0, 250.0),
        ([READY, IDLE, USED], 250.0, None),
        ([READY, IDLE, BOOT], 0.0, None),
    ],
)
def test_the_end_for_want_of_requests(lines: list[str], kept: float, end: float | None) -> None:
    assert idle_end(latest(ConsoleReader().read("\n".join(lines))), kept) == end


@pytest.mark.parametrize(
    ("lines", "state", "words"),
    [
        ([READY, IDLE, USED, NOTE], "passed", "reports ready"),
        ([READY, TAKEN], "failed", "ends at 2027-01-15 08:00:00 UTC; requests in flight are served to their end"),
        ([READY, TAKEN, DRAINED], "failed", "nobody is served any more"),
        # It is taken back all the same when the agent is started again.
        ([TAKEN, DRAINED, BOOT, READY], "failed", "interrupted by AWS"),
    ],
)
def test_the_agents_rung(lines: list[str], state: str, words: str) -> None:
    seen = AgentPhases(lambda: "\n".join(lines), ignore).check()
    assert (seen.state, words in seen.text) == (state, True), seen
    assert isinstance(seen.error, NotHealthyError) == (state == "failed")
