"""Health over many looks."""

from __future__ import annotations

from deployer.health.latch import WINDOW_SECONDS, Latch


def _states(looks: str, step: float = 5.0) -> list[str]:
    latch = Latch()
    return [latch.take(look == "+", number * step).state for number, look in enumerate(looks)]


def test_one_bad_look_does_not_end_health_and_two_do() -> None:
    assert _states("-++-") == ["unhealthy", "healthy", "healthy", "healthy"]
    assert _states("++--") == ["healthy", "healthy", "healthy", "unhealthy"]


def test_what_comes_and_goes_is_flapping() -> None:
    assert _states("+-+-")[-1] == "flapping"
    assert _states("+-+-" + "+" * 200)[-1] == "healthy", "it has been calm for a while"


def test_slow_changes_are_not_flapping() -> None:
    assert "flapping" not in _states("+-+-+-", step=WINDOW_SECONDS / 2 + 1)


def test_since_is_when_the_state_began() -> None:
    latch = Latch()
    latch.take(True, 10.0)
    assert latch.take(False, 20.0).since == 10.0
    assert latch.take(False, 30.0).since == 30.0
