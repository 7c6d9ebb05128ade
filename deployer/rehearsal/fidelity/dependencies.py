"""A security group cannot be deleted while something uses it (E4)."""

from __future__ import annotations

from typing import Any

from deployer.rehearsal.fidelity.call import Call, Proceed, Refusal, Reply
from deployer.rehearsal.fidelity.world import World


class DependencyRule:
    """Interfaces (an instance keeps its own until it is terminated) and other groups' rules hold a group."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """The rule."""
        if call.is_("ec2", "DeleteSecurityGroup"):
            from moto.ec2.models import ec2_backends

            backend = ec2_backends[self._world.account][call.region]
            group = _group(backend, call)
            if group is not None and group.is_default:
                raise Refusal(
                    "CannotDelete", f'the specified group: "{group.id}" name: "default" cannot be deleted by a user'
                )
            if group is not None and _in_use(backend, group):
                raise Refusal("DependencyViolation", f"resource {group.id} has a dependent object")
        return proceed(call)


def _group(backend: Any, call: Call) -> Any | None:
    if group_id := call.form.get("GroupId"):
        return backend.get_security_group_from_id(group_id)
    return backend.get_security_group_from_name(call.form.get("GroupName", ""))


def _in_use(backend: Any, group: Any) -> bool:
    if any(group.id == used.id for eni in backend.enis.values() for used in eni.group_set):
        return True
    others = [g for groups in backend.groups.values() for g in groups.values() if g.id != group.id]
    return any(
        (rule.source_group or {}).get("GroupId") == group.id
        for other in others
        for rule in [*other.ingress_rules, *other.egress_rules]
    )
