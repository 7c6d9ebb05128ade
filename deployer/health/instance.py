"""Rung 1: the instance runs."""

from __future__ import annotations

from collections.abc import Callable

from deployer.errors import AwsError, NotHealthyError
from deployer.health.base import Observation
from deployer.health.unreadable import unreadable

_ENDED = ("shutting-down", "terminated", "stopping", "stopped")


class InstanceRunning:
    """describe: EC2's state name, optionally followed by `: why`; empty while a new instance does not show yet."""

    name = "instance"
    #: EC2 takes seconds to a minute; a state that lasts longer is reported, not waited for.
    deadline_seconds = 300.0
    decides = True
    recheck_seconds = 10.0

    def __init__(self, describe: Callable[[], str]) -> None:
        self._describe = describe

    def check(self) -> Observation:
        try:
            seen = self._describe()
        except AwsError as error:
            return unreadable("the instance's state", error)
        match seen.partition(":")[0].strip():
            case "running":
                return Observation("passed", seen)
            case state if state in _ENDED:
                return Observation("failed", seen, _ended(seen))
            case "":
                return Observation("waiting", "not visible yet")
            case _:
                return Observation("waiting", seen)


def _ended(seen: str) -> NotHealthyError:
    return NotHealthyError(
        f"the instance is {seen} before the endpoint was ready",
        where="instance",
        hint="`deployer up` again makes a new one",
    )
