"""Carry out the steps that cost nothing: key, group, key pair, role and profile, independent ones at the same time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from deployer.aws import errors
from deployer.aws.resources import agent_program, api_key, instance_profile, key_pair, role, security_group
from deployer.aws.resources.security_group import SecurityGroup
from deployer.aws.tags import TagSet
from deployer.aws.waiting import FRESH_SECONDS, Look, not_seen_yet, retry_while, wait_until
from deployer.errors import AwsError, RefusedError
from deployer.reconcile import parallel, steps
from deployer.reconcile.desired import Desired
from deployer.reconcile.observe import Observed
from deployer.reconcile.operation import Operation
from deployer.targets.base import Plan, Step

T = TypeVar("T")

#: The call that makes one of a kind, and the answers to it that prove that none was made. A program is made by several.
_CREATES = {
    "api-key": "ssm:PutParameter",
    "security-group": "ec2:CreateSecurityGroup",
    "key-pair": "ec2:ImportKeyPair",
    "role": "iam:CreateRole",
    "instance-profile": "iam:CreateInstanceProfile",
}
_REFUSALS = frozenset({"permission", "quota", "parameter", "credentials"})


def supporting(
    op: Operation,
    desired: Desired,
    observed: Observed,
    plan: Plan,
    tags: TagSet,
    beside: dict[str, Callable[[], Any]],
    begun: set[str],
) -> tuple[str | None, dict[str, Any]]:
    """Everything an instance needs before it is launched.

    Returns the id of our security group (None when the user brings one), and the results of `beside`: look-ups that
    run at the same time. begun: gets the kinds of which one was or may have been made, also when this raises.
    """
    todo = {step.kind: step for step in plan.steps if step.action != "delete"}
    maker = _Maker(op, desired, observed, tags)

    def run(kind: str, act: Callable[[Step], str | None]) -> str | None:
        step = todo[kind]
        if step.action in ("create", "replace"):
            begun.add(kind)
        try:
            return steps.run(step, lambda: act(step), clock=op.clock, emit=op.emit)
        except AwsError as error:
            if error.operation == _CREATES.get(kind) and errors.meaning(error.aws_code) in _REFUSALS:
                begun.discard(kind)
            raise

    def role_then_profile() -> None:
        run("role", maker.role)
        run("instance-profile", maker.profile)

    tasks: dict[str, Callable[[], Any]] = {
        "api-key": lambda: run("api-key", lambda _step: api_key.create(op.aws, op.names, tags)),
        "agent-program": lambda: run("agent-program", maker.program),
        "key-pair": lambda: run("key-pair", maker.key_pair),
        "role": role_then_profile,
        **beside,
    }
    if desired.rules is not None:
        tasks["security-group"] = lambda: run("security-group", maker.group)
    results = parallel.gather(tasks)
    group = results.get("security-group") or maker.known_group()
    return group, {name: results[name] for name in beside}


class _Maker:
    """One function for each kind. A create that finds its name taken is checked again: ours is adopted."""

    def __init__(self, op: Operation, desired: Desired, observed: Observed, tags: TagSet) -> None:
        self._op = op
        self._desired = desired
        self._observed = observed
        self._tags = tags

    def known_group(self) -> str | None:
        here = self._group_here(list(self._observed.groups))
        return here.id if here is not None and self._desired.rules is not None else None

    def group(self, _step: Step) -> str:
        rules = self._desired.rules or frozenset()
        here = self._group_here(list(self._observed.groups))
        if here is None:
            made = security_group.create(self._op.aws, self._op.names, self._tags, self._desired.vpc)
            if made is not None:
                self._fresh("security group", lambda: security_group.allow(self._op.aws, made, rules))
                return made
            here = self._appeared(
                "security group", lambda: self._group_here(security_group.observe(self._op.aws, self._op.names))
            )
        group = here
        self._fresh("security group", lambda: security_group.allow(self._op.aws, group.id, rules - group.rules))
        security_group.revoke(self._op.aws, group.id, group.rules - rules, group.strange)
        return group.id

    def key_pair(self, step: Step) -> str:
        assert self._desired.public_key is not None
        if step.action == "replace":
            key_pair.delete(self._op.aws, self._op.names)
        made = key_pair.create(self._op.aws, self._op.names, self._tags, self._desired.public_key)
        if made is not None:
            return made
        return self._appeared("key pair", lambda: key_pair.observe(self._op.aws, self._op.names)).id

    def program(self, step: Step) -> str:
        seen = next((one for one in self._observed.programs if one.name == step.name), None)
        here = seen.parts if seen is not None else {}
        agent_program.create(self._op.aws, self._op.names, self._tags, self._desired.program_parts, here)
        return step.name

    def role(self, _step: Step) -> str:
        op, desired, seen = self._op, self._desired, self._observed.role
        if seen is None and not role.create(op.aws, op.names, self._tags, desired.trust):
            seen = self._appeared("role", lambda: role.observe(op.aws, op.names))
        if seen is not None and seen.trust != desired.trust:
            role.set_trust(op.aws, op.names, desired.trust)
        if seen is None or seen.policy != desired.policy:
            self._fresh("role", lambda: role.set_policy(op.aws, op.names, desired.policy))
        return op.names.role

    def profile(self, _step: Step) -> str:
        op, seen = self._op, self._observed.profile
        if seen is None and not instance_profile.create(op.aws, op.names, self._tags):
            seen = self._appeared("instance profile", lambda: instance_profile.observe(op.aws, op.names))
        inside = seen.roles if seen else ()
        for stranger in inside:
            if stranger != op.names.role:
                instance_profile.take_role(op.aws, op.names, stranger)
        if op.names.role not in inside:
            self._fresh("instance profile", lambda: instance_profile.put_role(op.aws, op.names))
        return op.names.instance_profile

    def _group_here(self, groups: list[SecurityGroup]) -> SecurityGroup | None:
        """Our group in the VPC; when only a stranger has the name there, the stranger."""
        here = [g for g in groups if g.vpc == self._desired.vpc and g.name == self._op.names.security_group]
        return next((g for g in here if g.ours), here[0] if here else None)

    def _fresh(self, what: str, act: Callable[[], T]) -> T:
        """A thing made a moment ago may not be seen by the next call yet."""
        return retry_while(
            act,
            not_seen_yet,
            clock=self._op.clock,
            deadline_seconds=FRESH_SECONDS,
            what=f"new {what} becomes visible",
            emit=self._op.emit,
            keep_alive=self._op.lease.check,
        )

    def _appeared(self, what: str, observe: Callable[[], T | None]) -> T:
        """AWS says the name is taken: by us, in a call whose reply was lost, or by a stranger."""

        def look() -> Look[T]:
            seen = observe()
            return Look("not visible yet") if seen is None else Look("visible", done=True, value=seen)

        seen = wait_until(
            look,
            clock=self._op.clock,
            deadline_seconds=FRESH_SECONDS,
            what=f"existing {what} becomes visible",
            emit=self._op.emit,
            keep_alive=self._op.lease.check,
        )
        if seen is None or not getattr(seen, "ours", False):
            raise RefusedError(
                f"a {what} of our name exists without our tag, so it is not ours and is left alone",
                hint="choose another stack name, or remove it if nobody needs it",
            )
        return seen
