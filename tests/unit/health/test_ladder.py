from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from deployer.errors import BootstrapError, NotHealthyError
from deployer.health.base import Observation
from deployer.health.ladder import climb
from tests.support.clock import FakeClock

WAITING = Observation("waiting", "not yet")
PASSED = Observation("passed", "fine")


@dataclass
class Scripted:
    """Gives `script` one by one, then its last entry for ever."""

    script: list[Observation]
    name: str = "rung"
    deadline_seconds: float = 60.0
    decides: bool = True
    checks: int = field(default=0)

    def check(self) -> Observation:
        self.checks += 1
        return self.script[min(self.checks, len(self.script)) - 1]


def _climb(*probes, clock=None, keep_alive=lambda: None):
    clock, events = clock or FakeClock(), []
    try:
        result = climb(probes, clock=clock, emit=events.append, keep_alive=keep_alive)
    except NotHealthyError as error:
        result = error
    return result, clock, events


def _said(events, name):
    return [event.fields for event in events if event.name == name]


def test_what_is_ready_at_once_costs_no_time():
    result, clock, events = _climb(Scripted([PASSED], "one"), Scripted([Observation("skipped", "no")], "two"))
    assert [(name, seen.state) for name, seen in result] == [("one", "passed"), ("two", "skipped")]
    assert clock.sleeps == []
    assert [(f["rung"], f["state"]) for f in _said(events, "probe")] == [("one", "passed"), ("two", "skipped")]


def test_polls_grow_from_a_tenth_to_two_seconds():
    _, clock, _ = _climb(Scripted([WAITING] * 20 + [PASSED]))
    assert clock.sleeps[0] == pytest.approx(0.1)
    assert clock.sleeps == sorted(clock.sleeps)
    assert clock.sleeps[-1] == 2.0


@pytest.mark.parametrize("deadline", [0.05, 1.0, 7.3, 60.0, 1800.0])
def test_the_deadline_is_exact_and_tells_the_last_observation(deadline):
    result, clock, events = _climb(Scripted([WAITING], "agent", deadline))
    assert clock.elapsed == pytest.approx(deadline)
    assert isinstance(result, NotHealthyError)
    assert result.message.startswith("agent: not within ")
    assert "not yet" in result.message
    assert _said(events, "probe")[-1]["state"] == "failed"


def test_the_last_look_is_at_the_deadline_itself():
    clock = FakeClock()

    class Late(Scripted):
        def check(self):
            return PASSED if clock.elapsed >= 60.0 else WAITING

    result, _, _ = _climb(Late([]), clock=clock)
    assert result == [("rung", PASSED)]


def test_a_late_rung_keeps_the_hint_of_what_it_saw():
    seen = Observation("waiting", "no answer", NotHealthyError("x", hint="look at the security group"))
    result, _, _ = _climb(Scripted([seen]))
    assert result.hint == "look at the security group"


def test_a_typed_failure_ends_the_climb_at_once():
    error = BootstrapError("no driver", failure_code="driver_missing")
    events, clock, later = [], FakeClock(), Scripted([PASSED], "later")
    with pytest.raises(BootstrapError) as raised:
        climb([Scripted([WAITING, Observation("failed", "no driver", error)]), later], clock=clock, emit=events.append)
    assert raised.value is error
    assert clock.elapsed < 1
    assert later.checks == 0


def test_rungs_that_do_not_decide_only_warn():
    probes = [
        Scripted([Observation("failed", "no gpu")], "accelerator", 0.0, decides=False),
        Scripted([WAITING], "mtp", 5.0, decides=False),
        Scripted([Observation("warned", "slow")], "speed", 0.0, decides=False),
    ]
    result, clock, events = _climb(*probes)
    assert [seen.state for _, seen in result] == ["warned", "warned", "warned"]
    assert [f["message"] for f in _said(events, "warning")] == [
        "accelerator: no gpu",
        "mtp: not within 5 s; last seen: not yet",
        "speed: slow",
    ]
    assert clock.elapsed == pytest.approx(5.0)


def test_events_on_change_and_a_sign_of_life_every_ten_seconds():
    _, _, events = _climb(Scripted([WAITING] * 30 + [PASSED], deadline_seconds=100))
    assert [f["state"] for f in _said(events, "probe")] == ["waiting", "passed"]
    waiting = [f["seconds"] for f in _said(events, "waiting")]
    gaps = [after - before for before, after in zip([0.0, *waiting], waiting, strict=False)]
    assert len(waiting) >= 4
    assert all(gap <= 12.1 for gap in gaps)
    assert _said(events, "waiting")[0]["deadline_seconds"] == 100
    assert _said(events, "waiting")[0]["observation"] == "not yet"


def test_keep_alive_is_called_between_looks():
    calls = []
    probe = Scripted([WAITING] * 5 + [PASSED])
    _climb(probe, keep_alive=lambda: calls.append(probe.checks))
    assert calls == [1, 2, 3, 4, 5]


def test_a_deadline_that_grows_is_followed():
    clock = FakeClock()

    class Growing(Scripted):
        @property
        def deadline_seconds(self):
            return 10.0 if clock.elapsed < 5 else 30.0

        @deadline_seconds.setter
        def deadline_seconds(self, _):
            pass

    _climb(Growing([WAITING]), clock=clock)
    assert clock.elapsed == pytest.approx(30.0)


def test_an_instance_that_ends_meanwhile_ends_the_climb():
    gone = Observation("failed", "terminated", NotHealthyError("the instance is terminated"))
    instance = Scripted([PASSED, PASSED, gone], "instance")
    instance.recheck_seconds = 10.0
    result, clock, events = _climb(instance, Scripted([WAITING], "agent", 1800.0))
    assert result.message == "the instance is terminated"
    assert 20.0 <= clock.elapsed <= 26.0
    assert _said(events, "probe")[-1]["rung"] == "instance"
