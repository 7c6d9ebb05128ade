"""Waiting, always with a deadline, the last observation and a way to give up early."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from deployer.aws import errors
from deployer.clock import Clock
from deployer.errors import AwsError, DeployerError, NotHealthyError
from deployer.events import Emit, Event

T = TypeVar("T")

FIRST_POLL_SECONDS = 0.2
LONGEST_POLL_SECONDS = 4.0
POLL_GROWTH = 1.6

#: How long a thing made moments ago may be missing from AWS's answers. EC2's guide speaks of seconds, at most minutes.
FRESH_SECONDS = 60.0


@dataclass(frozen=True)
class Look(Generic[T]):
    """One look: done True ends the wait with value; text says what was seen."""

    text: str
    done: bool = False
    value: T | None = None


def _nothing() -> None:
    return None


def _too_late(text: str) -> DeployerError:
    return NotHealthyError(text, hint="run the same command again in a minute: it goes on where it stopped")


def wait_until(
    check: Callable[[], Look[T]],
    *,
    clock: Clock,
    deadline_seconds: float,
    what: str,
    emit: Emit,
    keep_alive: Callable[[], None] = _nothing,
    early_abort: Callable[[], DeployerError | None] = _nothing,
    timeout: Callable[[str], DeployerError] = _too_late,
) -> T | None:
    """Look until a look is done and return its value. Polls grow from 0.2 s to 4 s.

    keep_alive is called before each look (it raises when our lease is lost). early_abort returns the error that
    makes more waiting useless. timeout makes the error of a missed deadline from its message.
    """
    start = clock.monotonic()
    pause = FIRST_POLL_SECONDS
    while True:
        keep_alive()
        look = check()
        waited = clock.monotonic() - start
        if look.done:
            return look.value
        if (abort := early_abort()) is not None:
            raise abort
        if waited >= deadline_seconds:
            raise timeout(f"{what}: not done after {waited:.0f} s; last seen: {look.text}")
        emit(
            Event(
                "waiting",
                {
                    "what": what,
                    "observation": look.text,
                    "seconds": round(waited, 1),
                    "deadline_seconds": deadline_seconds,
                },
            )
        )
        clock.sleep(min(pause, max(deadline_seconds - waited, 0.01)))
        pause = min(pause * POLL_GROWTH, LONGEST_POLL_SECONDS)


def retry_while(
    act: Callable[[], T],
    retryable: Callable[[AwsError], bool],
    *,
    clock: Clock,
    deadline_seconds: float,
    what: str,
    emit: Emit,
    keep_alive: Callable[[], None] = _nothing,
) -> T:
    """Call act again while it raises an AwsError that retryable accepts; after the deadline the last one is raised."""
    last: list[AwsError] = []

    def attempt() -> Look[T]:
        try:
            return Look("done", done=True, value=act())
        except AwsError as error:
            if not retryable(error):
                raise
            last[:] = [error]
            return Look(error.message)

    return wait_until(  # type: ignore[return-value]  # a done look carries act's own result
        attempt,
        clock=clock,
        deadline_seconds=deadline_seconds,
        what=what,
        emit=emit,
        keep_alive=keep_alive,
        timeout=lambda _text: last[0],
    )


def not_seen_yet(error: AwsError) -> bool:
    """Whether AWS may only not see yet what was made a moment ago."""
    return errors.meaning(error.aws_code) in ("not_found", "consistency")


def still_used(error: AwsError) -> bool:
    """Whether the thing cannot go because another one that is going still uses it."""
    return errors.meaning(error.aws_code) in ("dependency", "consistency")
