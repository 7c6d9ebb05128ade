"""Every AWS call that a verb makes is once unanswered, throttled and denied. The calls are those that an undisturbed
run makes, so that a new call is covered.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from deployer.errors import DeployerError
from tests.crash.operating import READING, Account, Verb

#: What each service calls it.
_THROTTLED = {"ec2": ("RequestLimitExceeded", 503), "ssm": ("ThrottlingException", 400)}
_DENIED = {"ec2": ("UnauthorizedOperation", 403), "ssm": ("AccessDeniedException", 400)}
#: The verbs that make and take away; the others are made of the same calls.
MAKING = ("up", "down", "change")
#: As many as are borne, and one more.
_BORNE = 7


def test_every_reply_is_lost_once(
    verb: Verb, calls: list[tuple[str, str]], account: Callable[..., Account], row: Callable[..., None]
) -> None:
    wrong = []
    changing = [call for call in calls if not call[1].startswith(READING)]
    for service, operation in changing:
        one = account(verb)
        one.operator.fault(service=service, operation=operation, when="after")
        one.act()
        if problem := one.problem():
            wrong.append(f"{service}:{operation}: {problem}")
    row(f"a reply lost, each changing call of {verb}", len(changing), len(changing) - len(wrong))
    assert changing
    assert not wrong


@pytest.mark.parametrize("verb", MAKING, indirect=True)
def test_every_reply_is_lost_for_good(
    verb: Verb, calls: list[tuple[str, str]], account: Callable[..., Account], row: Callable[..., None]
) -> None:
    """Not one answer in all the tries: the verb may fail with a sentence, and the next one puts everything right."""
    wrong = []
    changing = [call for call in calls if not call[1].startswith(READING)]
    for service, operation in changing:
        one = account(verb)
        one.operator.fault(service=service, operation=operation, when="after", times=0)
        said = _said(one.act)
        one.cloud.faults.clear()
        if said is not None and f"{service}:{operation}" not in said:
            wrong.append(f"{service}:{operation} is not named: {said}")
        if problem := one.problem():
            wrong.append(f"{service}:{operation}: {problem}")
    row(f"no reply at all, each changing call of {verb}", len(changing), len(changing) - len(wrong))
    assert not wrong


@pytest.mark.parametrize("verb", MAKING, indirect=True)
@pytest.mark.parametrize("times", [_BORNE, _BORNE + 1])
def test_every_call_is_throttled(
    verb: Verb, times: int, calls: list[tuple[str, str]], account: Callable[..., Account], row: Callable[..., None]
) -> None:
    wrong = []
    for service, operation in calls:
        code, status = _THROTTLED.get(service, ("Throttling", 400))
        one = account(verb)
        one.operator.aws = None  # the first call of a connection is throttled too
        one.operator.fault(service=service, operation=operation, code=code, status=status, times=times)
        said = _said(one.act)
        if said is not None and (times <= _BORNE or f"{service}:{operation}" not in said):
            wrong.append(f"{service}:{operation}: {said}")
        one.cloud.faults.clear()
        if problem := one.problem():
            wrong.append(f"{service}:{operation}: {problem}")
    row(f"throttled {times} times, each call of {verb}", len(calls), len(calls) - len(wrong))
    assert not wrong


def test_every_call_is_denied_once(
    verb: Verb, calls: list[tuple[str, str]], account: Callable[..., Account], row: Callable[..., None]
) -> None:
    wrong = []
    for service, operation in calls:
        code, status = _DENIED.get(service, ("AccessDenied", 403))
        one = account(verb)
        one.operator.aws = None
        one.operator.fault(service=service, operation=operation, code=code, status=status)
        said = _said(one.act)
        if said is not None and f"{service}:{operation}" not in said:
            wrong.append(f"{service}:{operation} is not named: {said}")
        one.cloud.faults.clear()
        if problem := one.problem():
            wrong.append(f"{service}:{operation}: {problem}")
    row(f"denied once, each call of {verb}", len(calls), len(calls) - len(wrong))
    assert not wrong


@pytest.mark.parametrize("verb", MAKING, indirect=True)
@pytest.mark.parametrize("seed", range(3))
def test_describes_and_iam_lag(
    verb: Verb, seed: int, account: Callable[..., Account], row: Callable[..., None]
) -> None:
    one = account(verb, lag_seconds=2.0, lag_seed=seed, profile_lag_seconds=1.0)
    one.act()
    problem = one.problem()
    row(f"{verb} while describes and IAM lag", 1, problem is None)
    assert problem is None


def _said(act: Callable[[], None]) -> str | None:
    """The error's text and hint, None when there was none."""
    try:
        act()
    except DeployerError as error:
        return f"{error.message} {error.hint}"
    return None
