"""Plain lines: what is told late, and what there is to tell of nothing."""

from __future__ import annotations

import io

import pytest

from deployer.events import Event
from deployer.views.live import LiveView
from deployer.views.plain import PlainView


def _weights(state: str, percent: int | None = None) -> Event:
    return Event("phase", {"phase": "weights", "state": state, "percent": percent})


WAITING = Event("probe", {"rung": "agent", "state": "waiting", "observation": "weights"})


def _plain(*events: Event) -> list[str]:
    stream = io.StringIO()
    with PlainView(stream) as view:
        for event in events:
            view.emit(event)
    return stream.getvalue().splitlines()


def test_the_way_of_a_phase_that_is_done_when_it_is_first_read_is_not_told() -> None:
    assert _plain(_weights("start"), _weights("progress", 13), _weights("progress", 60), _weights("done"), WAITING) == [
        "✔ weights",
        "… agent: weights",
    ]


def test_progress_that_is_watched_is_told() -> None:
    lines = _plain(
        _weights("progress", 13), WAITING, _weights("progress", 60), _weights("progress", 62), WAITING, _weights("done")
    )
    assert lines == ["… weights 13 %", "… agent: weights", "… weights 60 %", "✔ weights"]


def test_progress_is_told_at_the_end_when_nothing_came_after_it() -> None:
    assert _plain(_weights("progress", 13)) == ["… weights 13 %"]


def test_nothing_to_take_away() -> None:
    assert _plain(Event("down.summary", {"stack": None, "deleted": [], "remaining": [], "seconds": 0.0})) == [
        "· nothing to take away"
    ]


@pytest.mark.parametrize(("state", "kept"), [("progress", 1), ("done", 0), ("skipped", 0), ("failed", 0)])
def test_what_has_ended_leaves_the_live_area(state, kept) -> None:
    view = LiveView(io.StringIO(), colour=False)
    with view:
        for event in (_weights("start"), _weights(state)):
            view.emit(event)
        assert len(view._busy) == kept
