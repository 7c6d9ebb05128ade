"""kill -9 before and after every AWS call of up, down and a change; then `up` converges, and `down` leaves the account
as it was. The calls are counted by the victim itself, so that a new call is covered.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from deployer.rehearsal.cloud import Cloud
from tests.cloud.conftest import INSTANT, fresh_account, settled_heap
from tests.cloud.ec2 import crashing
from tests.cloud.ec2.support import environment
from tests.crash.account import furnish, ours, snapshot

#: How many tests share the calls of one combination, so that workers are kept busy.
SLICES = 4

Verb = Literal["up", "down", "change"]
Side = Literal["before", "after"]
CHANGED = {"context": 8192}


class Account:
    """One account of its own with things of others in it."""

    def __init__(self, home: Path, verb: Verb) -> None:
        settled_heap()
        self.cloud = Cloud(account=fresh_account(), options=INSTANT)
        self.environ = environment(self.cloud.url, home)
        self.values = CHANGED if verb == "change" else {}
        furnish(self.cloud.url)
        self.before = snapshot(self.cloud.url)

    def run(self, verb: Literal["up", "down"], *, values: dict[str, Any] | None = None, **death: Any) -> int:
        """One command in a process of its own."""
        return crashing.run(self.environ, verb, values=self.values if values is None else values, **death)


@pytest.mark.parametrize("part", range(SLICES))
@pytest.mark.parametrize("follow_up", ["up", "down"])
@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("verb", ["up", "down", "change"])
def test_a_kill_at_every_call(
    verb: Verb, side: Side, follow_up: str, part: int, tmp_path: Path, row: Callable[..., None]
) -> None:
    wrong: list[str] = []
    tried = 0
    account = Account(tmp_path / "home", verb)
    for number in itertools.count(part + 1, SLICES):
        if verb != "up":
            assert account.run("up", values={}) == 0
        killed = account.run("down" if verb == "down" else "up", at=number, side=side)
        if killed == 0:
            break
        tried += 1
        call = (account.cloud.record.calls(0) or [None])[-1]
        found = [] if killed == crashing.KILLED else [f"the victim ended with {killed}"]
        if problem := _aftermath(account, follow_up):
            found.append(problem)
            # One that is as it was before serves the next kill as well as a fresh one.
            account.cloud.close()
            account = Account(tmp_path / str(number), verb)
        if found:
            wrong.append(f"killed {side} call {number}, near {call and call['operation']}: {'; '.join(found)}")
    account.cloud.close()
    row(f"kill -9 {side} each call of {verb}, then {follow_up}", tried, tried - len(wrong))
    assert tried
    assert not wrong, "\n".join(wrong)


def _aftermath(account: Account, follow_up: str) -> str | None:
    """What is wrong after the next commands, None when nothing is."""
    if follow_up == "up":
        code = account.run("up")
        if code or ours(account.cloud) != 1:
            return f"up again ended with {code} and {ours(account.cloud)} instances"
    code = account.run("down")
    if code:
        return f"down ended with {code}"
    if snapshot(account.cloud.url) != account.before:
        return f"something is left or changed: {account.cloud.status()}"
    return None
