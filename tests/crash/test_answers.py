"""Every AWS call that up, down and a change make is once unanswered, throttled and denied. The calls are those that an
undisturbed run makes, so that a new call is covered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from deployer.errors import DeployerError
from deployer.rehearsal.cloud import Cloud
from deployer.settings import Settings
from tests.cloud.conftest import INSTANT, fresh_account
from tests.cloud.ec2.support import HastyClock, Operator, environment
from tests.crash.account import furnish, ours, snapshot

Verb = Literal["up", "down", "change"]
VERBS: tuple[Verb, ...] = ("up", "down", "change")
_READING = ("Describe", "Get", "List", "Batch")
#: What each service calls it.
_THROTTLED = {"ec2": ("RequestLimitExceeded", 503), "ssm": ("ThrottlingException", 400)}
_DENIED = {"ec2": ("UnauthorizedOperation", 403), "ssm": ("AccessDeniedException", 400)}
#: As many as are borne, and one more.
_BORNE = 7
#: A lease whose giving back was never answered looks held by this very process, and runs out.
_LEASE_SECONDS = 120.0


class Account:
    """An account with things of others in it and an operator, at the start of a verb."""

    def __init__(self, cloud: Cloud, home: Path, verb: Verb) -> None:
        self.cloud = cloud
        furnish(self.cloud.url)
        self.before = snapshot(self.cloud.url)
        self.operator = Operator(self.cloud, Settings.from_env(environment(self.cloud.url, home)), clock=HastyClock())
        self._verb = verb
        if verb != "up":
            self.operator.up()

    def act(self) -> None:
        """The verb. Raises DeployerError."""
        target = self.operator.target(lock_wait_seconds=_LEASE_SECONDS)
        if self._verb == "down":
            target.down("demo")
        else:
            target.up(self.operator.deployment(**({"context": 8192} if self._verb == "change" else {})))

    def problem(self) -> str | None:
        """What is wrong once the verb has been repeated and the stack taken down."""
        if self._verb != "down":
            self.act()
            if (count := ours(self.cloud)) != 1:
                return f"{count} instances"
            self.operator.events.clear()
            self.act()
            if changed := self.operator.named("step.done"):
                return f"a second run still changed {[step['name'] for step in changed]}"
        self.operator.target(lock_wait_seconds=_LEASE_SECONDS).down("demo")
        self.cloud.world.options = INSTANT
        return None if snapshot(self.cloud.url) == self.before else f"left or changed: {self.cloud.status()}"


@pytest.fixture
def account(operator: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Account]]:
    """`account(verb)` is a fresh one, and boto3 is pointed at it; `operator` gives the rest of the environment."""
    made: list[Account] = []

    def make(verb: Verb, **options: Any) -> Account:
        cloud = Cloud(account=fresh_account(), options=INSTANT)
        monkeypatch.setenv("AWS_ENDPOINT_URL", cloud.url)
        made.append(Account(cloud, tmp_path / str(len(made)), verb))
        cloud.world.options = INSTANT.changed(options)
        return made[-1]

    yield make
    for one in made:
        one.cloud.close()


@pytest.fixture(params=VERBS)
def verb(request: pytest.FixtureRequest) -> Verb:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def calls(account: Callable[..., Account], verb: Verb) -> list[tuple[str, str]]:
    """What the verb asks AWS, in order."""
    first = account(verb)
    before = len(first.cloud.record.calls(0))
    first.act()
    made = [(call["service"], call["operation"]) for call in first.cloud.record.calls(0)[before:]]
    return list(dict.fromkeys(made))


def test_every_reply_is_lost_once(
    verb: Verb, calls: list[tuple[str, str]], account: Callable[..., Account], row: Callable[..., None]
) -> None:
    wrong = []
    changing = [call for call in calls if not call[1].startswith(_READING)]
    for service, operation in changing:
        one = account(verb)
        one.operator.fault(service=service, operation=operation, when="after")
        one.act()
        if problem := one.problem():
            wrong.append(f"{service}:{operation}: {problem}")
    row(f"a reply lost, each changing call of {verb}", len(changing), len(changing) - len(wrong))
    assert changing
    assert not wrong


def test_every_reply_is_lost_for_good(
    verb: Verb, calls: list[tuple[str, str]], account: Callable[..., Account], row: Callable[..., None]
) -> None:
    """Not one answer in all the tries: the verb may fail with a sentence, and the next one puts everything right."""
    wrong = []
    changing = [call for call in calls if not call[1].startswith(_READING)]
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
