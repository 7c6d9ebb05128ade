"""Nothing waits for ever: one call after the other never gives what the product waits for, on a clock that jumps."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from deployer.errors import DeployerError
from deployer.events import Event
from tests.crash.operating import READING, Account, Verb

#: What AWS may say at every try without end; throttling is test_answers'. A reading call hears only the first.
_FOR_EVER = {
    "ec2": ("InvalidGroup.NotFound", "IncorrectState", "DependencyViolation"),
    "iam": ("NoSuchEntity", "EntityTemporarilyUnmodifiable", "DeleteConflict"),
    "ssm": ("ParameterNotFound", "TooManyUpdates"),
}
#: No pause is longer, so that Ctrl-C, the lease and the early ends are looked at that often.
_LONGEST_PAUSE = 8.0
#: Nobody looks at a screen on which nothing happens for longer. Two pauses: the first of a row is not told.
_LONGEST_SILENCE = 16.0
#: The longest deadline of all is the 15 minutes that a large instance may take to end; what follows adds up.
_LONGEST_RUN = 45 * 60.0


class JumpingClock:
    """Goes forward only by being slept on, by all threads together. silence: the longest time without an event."""

    def __init__(self) -> None:
        self._time = 1_800_000_000.0
        self._spoke = self._time
        self._lock = threading.Lock()
        self.longest_pause = 0.0
        self.silence = 0.0

    def now(self) -> float:
        return self._time

    def monotonic(self) -> float:
        return self._time

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self._time += seconds
            self.longest_pause = max(self.longest_pause, seconds)
            self.silence = max(self.silence, self._time - self._spoke)

    def spoke(self) -> None:
        """An event was told."""
        self._spoke = self._time


class Told(list[Event]):
    """Events that tell the clock of themselves."""

    def __init__(self, clock: JumpingClock) -> None:
        super().__init__()
        self._clock = clock

    def append(self, event: Event) -> None:
        self._clock.spoke()
        super().append(event)


@pytest.fixture
def waiting(account: Callable[..., Account], verb: Verb) -> Callable[..., tuple[JumpingClock, Account]]:
    """`waiting(**options)` is an account before the verb, on a clock that jumps."""

    def make(**options: Any) -> tuple[JumpingClock, Account]:
        clock = JumpingClock()
        one = account(verb, clock=clock, **options)
        one.operator.events = Told(clock)
        one.connect()
        return clock, one

    return make


def test_no_call_keeps_the_verb_waiting_for_ever(
    verb: Verb,
    calls: list[tuple[str, str]],
    waiting: Callable[..., tuple[JumpingClock, Account]],
    row: Callable[..., None],
    silent: Callable[[float], None],
) -> None:
    wrong: list[str] = []
    tried = 0
    for service, operation in calls:
        codes = _FOR_EVER.get(service, ())
        for code in codes[:1] if operation.startswith(READING) else codes:
            tried += 1
            clock, one = waiting()
            one.operator.fault(service=service, operation=operation, code=code, times=0)
            problem = _hangs(clock, one)
            silent(clock.silence)
            one.cloud.close()
            if problem:
                wrong.append(f"{service}:{operation} always {code}: {problem}")
    row(f"an answer that never changes, each call of {verb}", tried, tried - len(wrong))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "options",
    [{"pending_seconds": 1e9}, {"shutting_down_seconds": 1e9}, {"lag_seconds": 1e9}, {"profile_lag_seconds": 1e9}],
    ids=lambda options: next(iter(options)),
)
def test_no_state_that_never_comes_keeps_the_verb_waiting(
    verb: Verb,
    options: dict[str, float],
    waiting: Callable[..., tuple[JumpingClock, Account]],
    row: Callable[..., None],
    silent: Callable[[float], None],
) -> None:
    clock, one = waiting(**options)
    problem = _hangs(clock, one)
    silent(clock.silence)
    row(f"a state that never comes, {verb}", 1, problem is None)
    assert problem is None


def _hangs(clock: JumpingClock, one: Account) -> str | None:
    """What is wrong with how the verb waits. Whether it succeeds is not the question here."""
    start = clock.now()
    raised: list[BaseException] = []

    def run() -> None:
        try:
            one.act()
        except BaseException as error:  # noqa: BLE001 - judged below
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    # A verb that never pauses in its loop moves no clock: that is what this real time is for.
    thread.join(300)
    if thread.is_alive():
        return f"it goes on and on; told last: {one.operator.events[-1:]}"
    if raised and not isinstance(raised[0], DeployerError):
        return f"{type(raised[0]).__name__}: {raised[0]}"
    if raised and not (raised[0].message and raised[0].hint):
        return f"no way out is named: {raised[0]}"
    if clock.longest_pause > _LONGEST_PAUSE:
        return f"one pause took {clock.longest_pause:.0f} s"
    if clock.silence > _LONGEST_SILENCE:
        return f"{clock.silence:.0f} s without an event"
    if clock.now() - start > _LONGEST_RUN:
        return f"it took {(clock.now() - start) / 60:.0f} min"
    return _untold(one.operator.events)


def _untold(events: list[Event]) -> str | None:
    """Every wait names what it is for and what it saw, and none passes its own deadline."""
    for event in events:
        if event.name != "waiting":
            continue
        fields = event.fields
        if not (fields.get("what") and fields.get("observation")):
            return f"a wait says nothing: {fields}"
        if float(fields.get("seconds", 0)) > float(fields.get("deadline_seconds", 0)) + _LONGEST_PAUSE:  # type: ignore[arg-type]
            return f"a wait is past its deadline: {fields}"
    return None
