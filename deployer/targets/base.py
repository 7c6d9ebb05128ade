"""What every target offers to the CLI, and the plan as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from deployer.decide.types import Deployment
from deployer.events import Json

if TYPE_CHECKING:
    from deployer.catalog.prices import Price
    from deployer.decide.checks import Check
    from deployer.decide.money import Spent

Action = Literal["create", "keep", "update", "replace", "delete"]


@dataclass(frozen=True)
class Step:
    """One step of a plan. kind: `stack-record`, `api-key`, `security-group`, `key-pair`, `role`, `instance-profile`,
    `instance`, `tags` (the user's, on all of these), or for a local stack `agent`. name: the resource's own name."""

    action: Action
    kind: str
    name: str
    reason: str


@dataclass(frozen=True)
class Plan:
    """Ordered steps; `changes` counts everything but keep."""

    steps: tuple[Step, ...]

    @property
    def changes(self) -> int:
        """How many steps change something."""
        return sum(step.action != "keep" for step in self.steps)


@dataclass(frozen=True)
class UpResult:
    """url: the OpenAI base URL a client on this machine uses, ending in /v1.
    None when a tunnel must be opened first.
    """

    stack: str
    changes: int
    url: str | None
    instance_id: str | None
    seconds: float


@dataclass(frozen=True)
class DownResult:
    """deleted and remaining: `kind name` of resources."""

    stack: str
    deleted: tuple[str, ...]
    remaining: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class StackStatus:
    """One stack as `ls` and `status` show it. details: JSON values for `status --json` (resources, phases, probes).

    idle_seconds: it ends itself after so long without a request. idle_ends_at: when, if nobody asks anything until
    then; None while it is in use, has been until a moment ago, or nobody looked. spent: an estimate, None when
    nothing is billed.
    """

    stack: str
    target: str
    region: str | None
    phase: str
    instance_type: str | None
    model: str | None
    created_at: float | None
    expires_at: float | None
    details: Mapping[str, Json]
    idle_seconds: float | None = None
    idle_ends_at: float | None = None
    spent: Spent | None = None


@dataclass(frozen=True)
class Preflight:
    """What a target can tell before anything is paid for: its own prices, what stands in the way, and what the
    stack's machine measured of itself (a MeasuredChoice)."""

    prices: tuple[Price, ...] = ()
    checks: tuple[Check, ...] = ()
    tuned: Mapping[str, Any] | None = None


def spent_document(one: Spent | None) -> Json:
    """`spent` of `ls`, `status` and `down --json`: the instance alone, without volume and transfer."""
    if one is None:
        return None
    return {
        "hours": round(one.hours, 3),
        "amount": None if one.amount is None else round(one.amount, 2),
        "currency": one.currency,
        "source": one.source,
        "tokens": one.tokens,
        "per_million_tokens": None if one.per_million_tokens is None else round(one.per_million_tokens, 2),
    }


class Target(Protocol):
    """plan/up take a Deployment; down/status need only the stack's name; list_stacks returns every stack there.

    spent: what the stack has cost until now and what it has generated, None when nothing of it runs.
    resolved: the Deployment with what only the target can tell; plan and up do it too, when it was not done before.
    """

    def resolved(self, deployment: Deployment) -> Deployment: ...
    def plan(self, deployment: Deployment) -> Plan: ...
    def preflight(self, deployment: Deployment) -> Preflight: ...
    def up(self, deployment: Deployment) -> UpResult: ...
    def spent(self, stack: str) -> Spent | None: ...
    def down(self, stack: str) -> DownResult: ...
    def status(self, stack: str) -> StackStatus: ...
    def list_stacks(self) -> list[StackStatus]: ...
