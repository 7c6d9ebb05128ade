"""Which phases `status` shows."""

from __future__ import annotations

from deployer.health.console import AgentLine
from deployer.health.phases import latest


def _shown(*pairs: str) -> list[str]:
    lines = [AgentLine(*pair.split()) for pair in pairs]
    return [f"{line.phase} {line.state}" for line in latest(lines)]


def test_each_phase_shows_its_last_line_in_the_order_they_came() -> None:
    told = ("boot start", "boot done", "weights start", "image start", "image done", "weights progress")
    assert _shown(*told) == ["boot done", "image done", "weights progress"]


def test_an_engine_that_starts_again_is_not_ready() -> None:
    assert _shown("engine done", "ready done", "engine restarting") == ["engine restarting"]
    assert _shown("engine done", "ready done", "engine restarting", "engine done", "ready done") == [
        "engine done",
        "ready done",
    ]


def test_a_new_boot_forgets_the_one_before() -> None:
    assert _shown("boot done", "engine failed", "boot start", "boot done") == ["boot done"]
