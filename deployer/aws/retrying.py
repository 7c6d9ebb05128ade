"""Which AWS answers are asked for again, how often and how long: with jitter, always bounded, never in silence."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from deployer.aws import errors
from deployer.clock import Clock
from deployer.errors import AwsError
from deployer.events import Emit, Event

T = TypeVar("T")

#: Requests sent in all. Throttling passes: seven pauses of at most 8 s, half a minute at the most. An answer that never
#: comes costs a read time-out each time, and an outage of AWS's own is not mended by asking on.
ATTEMPTS = {"throttle": 8, "network": 4, "outage": 4}
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 8.0


def with_retries(act: Callable[[], T], *, clock: Clock, emit: Emit) -> T:
    """The result of act, called again while AWS asks to slow down, is out of order or does not answer.

    Pauses are random between nothing and a bound that doubles from half a second to 8 s, so that many callers do not
    come back together. Every pause after the first is an event. Raises act's last AwsError.
    """
    from tenacity import RetryCallState, Retrying, wait_random_exponential

    def passes(state: RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome else None
        return isinstance(error, AwsError) and errors.meaning(error.aws_code) in ATTEMPTS

    def is_over(state: RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome else None
        return isinstance(error, AwsError) and state.attempt_number >= ATTEMPTS[errors.meaning(error.aws_code)]

    def tell(state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, AwsError) and state.attempt_number > 1:
            attempts = ATTEMPTS[errors.meaning(error.aws_code)]
            observation = f"{error.aws_code}, request {state.attempt_number} of {attempts}"
            emit(Event("waiting", {"what": f"AWS to take {error.operation}", "observation": observation}))

    again = Retrying(
        retry=passes,
        stop=is_over,
        wait=wait_random_exponential(multiplier=FIRST_PAUSE_SECONDS, max=LONGEST_PAUSE_SECONDS),
        sleep=clock.sleep,
        before_sleep=tell,
        reraise=True,
    )
    return again(act)
