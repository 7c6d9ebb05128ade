"""Faults on order: an AWS error instead of the work, a lost reply after it, or a delay (E13, E14)."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from fnmatch import fnmatchcase
from typing import Any, Literal

from deployer.clock import Clock
from deployer.errors import UsageError
from deployer.rehearsal.fidelity.call import Call, DropConnection, Proceed, Refusal, Reply


@dataclass(frozen=True)
class Fault:
    """service, operation: names or globs. times: how often it strikes, 0 for always. skip: how many pass first.

    where: request parameter (flat name, or top-level JSON name) -> glob its value must match.
    when `before`: nothing is done; the answer is `code` with `status`, or a delayed call when there is no code.
    when `after`: the work is done, then the answer is `code`, or the connection drops when there is no code.
    delay_seconds: waited first.
    """

    service: str = "*"
    operation: str = "*"
    code: str | None = None
    message: str = "injected by the sandbox"
    status: int = 400
    times: int = 1
    skip: int = 0
    when: Literal["before", "after"] = "before"
    delay_seconds: float = 0.0
    where: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(document: Mapping[str, Any]) -> Fault:
        """A fault from its JSON form. Raises UsageError on an unknown key or value."""
        known = {f.name for f in fields(Fault)}
        if unknown := sorted(set(document) - known):
            raise UsageError(f"unknown key {unknown[0]!r} in a fault", hint="one of " + ", ".join(sorted(known)))
        if document.get("when", "before") not in ("before", "after"):
            raise UsageError("a fault's `when` is before or after")
        return Fault(**document)

    def matches(self, call: Call) -> bool:
        """Whether the call is of the kind this fault strikes."""
        return (
            fnmatchcase(call.service, self.service)
            and fnmatchcase(call.operation, self.operation)
            and all(fnmatchcase(_value(call, name), glob) for name, glob in self.where.items())
        )


def _value(call: Call, name: str) -> str:
    return str(call.form.get(name, call.document.get(name, "")))


@dataclass
class _Armed:
    fault: Fault
    seen: int = 0
    struck: int = 0


class FaultRule:
    """The faults in force, first match wins. Runs outside the world's lock, so that a delay holds up one call only."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._armed: list[_Armed] = []

    def arm(self, fault: Fault) -> None:
        """Put a fault in force."""
        with self._lock:
            self._armed.append(_Armed(fault))

    def clear(self) -> None:
        """Take every fault away."""
        with self._lock:
            self._armed.clear()

    def listing(self) -> list[dict[str, Any]]:
        """The faults in force with how often each has struck."""
        with self._lock:
            return [{**asdict(armed.fault), "struck": armed.struck} for armed in self._armed]

    def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """The rule."""
        fault = self._next(call)
        if fault is None:
            return proceed(call)
        if fault.delay_seconds:
            self._clock.sleep(fault.delay_seconds)
        refusal = Refusal(fault.code, fault.message, fault.status) if fault.code else None
        if fault.when == "after":
            proceed(call)
            raise refusal or DropConnection
        if refusal is not None:
            raise refusal
        return proceed(call)

    def _next(self, call: Call) -> Fault | None:
        with self._lock:
            for armed in self._armed:
                if (armed.fault.times and armed.struck >= armed.fault.times) or not armed.fault.matches(call):
                    continue
                armed.seen += 1
                if armed.seen <= armed.fault.skip:
                    continue
                armed.struck += 1
                return armed.fault
        return None
