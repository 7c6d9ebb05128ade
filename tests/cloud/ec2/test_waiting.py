"""No wait is longer than its deadline, each names what it waited for and what it saw last."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from deployer.aws.waiting import LONGEST_POLL_SECONDS, Look, not_seen_yet, retry_while, wait_until
from deployer.errors import AwsError, LockedError, NotHealthyError
from deployer.events import Event, ignore
from deployer.reconcile import parallel


class JumpingClock:
    """Moves exactly as far as it is slept on."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.sleeps: list[float] = []

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.time += seconds


def wait(check: Any, clock: JumpingClock, **more: Any) -> Any:
    return wait_until(
        check, clock=clock, deadline_seconds=60.0, what="the thing", emit=more.pop("emit", ignore), **more
    )


def test_a_deadline_holds_and_says_what_was_seen_last() -> None:
    clock = JumpingClock()
    events: list[Event] = []
    with pytest.raises(NotHealthyError, match="the thing: not done after 60 s; last seen: still red") as late:
        wait(lambda: Look("still red"), clock, emit=events.append)
    assert late.value.hint, "a person must know what to do next"
    assert clock.time == pytest.approx(1060.0)
    assert clock.sleeps[0] == pytest.approx(0.2)
    assert max(clock.sleeps) == LONGEST_POLL_SECONDS
    assert {event.name for event in events} == {"waiting"}
    assert events[-1].fields["observation"] == "still red"


def test_what_is_done_at_once_costs_no_time() -> None:
    clock = JumpingClock()
    assert wait(lambda: Look("green", done=True, value=7), clock) == 7
    assert clock.sleeps == []


def test_a_reason_to_give_up_ends_it() -> None:
    clock = JumpingClock()
    with pytest.raises(NotHealthyError, match="terminated"):
        wait(lambda: Look("pending"), clock, early_abort=lambda: NotHealthyError("it was terminated"))
    assert clock.sleeps == []


def test_a_lost_lease_ends_it() -> None:
    def lost() -> None:
        raise LockedError("taken over")

    with pytest.raises(LockedError):
        wait(lambda: Look("pending"), JumpingClock(), keep_alive=lost)


@pytest.mark.parametrize(("code", "tries"), [("InvalidGroup.NotFound", 5), ("UnauthorizedOperation", 1)])
def test_only_what_may_pass_is_tried_again(code: str, tries: int) -> None:
    seen: list[int] = []

    def act() -> str:
        seen.append(1)
        if len(seen) < 5:
            raise AwsError("no", aws_code=code, operation="ec2:X")
        return "done"

    def run() -> str:
        return retry_while(act, not_seen_yet, clock=JumpingClock(), deadline_seconds=60.0, what="x", emit=ignore)

    if tries == 1:
        with pytest.raises(AwsError):
            run()
    else:
        assert run() == "done"
    assert len(seen) == tries


def test_after_the_deadline_the_last_error_itself_is_raised() -> None:
    def act() -> None:
        raise AwsError("group is not there", aws_code="InvalidGroup.NotFound", operation="ec2:X")

    with pytest.raises(AwsError, match="group is not there"):
        retry_while(act, not_seen_yet, clock=JumpingClock(), deadline_seconds=60.0, what="x", emit=ignore)


def test_independent_work_runs_at_the_same_time_and_the_first_error_comes_last() -> None:
    meeting = threading.Barrier(2, timeout=10)
    ended: list[str] = []

    def meet(name: str) -> str:
        meeting.wait()
        ended.append(name)
        return name

    assert parallel.gather({"a": lambda: meet("a"), "b": lambda: meet("b")}) == {"a": "a", "b": "b"}

    def fail() -> str:
        raise AwsError("no", aws_code="X", operation="x")

    with pytest.raises(AwsError):
        parallel.gather({"bad": fail, "good": lambda: ended.append("good") or "good"})
    assert "good" in ended
