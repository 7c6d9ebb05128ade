"""Machines with a firewall of their own have it follow their security groups, at launch and after each change.

Only what lets IPv4 in is enforced: what a group lets out is not, nor are IPv6 and prefix lists.
"""

from __future__ import annotations

from typing import Any

from deployer.rehearsal.fidelity.call import Call, Proceed, Reply
from deployer.rehearsal.fidelity.fleet import Fleet
from deployer.rehearsal.fidelity.world import World
from deployer.rehearsal.machines.base import IngressRule, Networked

_CHANGES = (
    "RunInstances",
    "StartInstances",
    "ModifyInstanceAttribute",
    "ModifyNetworkInterfaceAttribute",
    "AuthorizeSecurityGroupIngress",
    "RevokeSecurityGroupIngress",
    "ModifySecurityGroupRules",
)


class FirewallRule:
    """After every call that may have changed what reaches an instance, tell the hypervisor."""

    def __init__(self, world: World, fleet: Fleet) -> None:
        self._world = world
        self._fleet = fleet

    def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """The rule."""
        reply = proceed(call)
        hypervisor = self._world.hypervisor
        if isinstance(hypervisor, Networked) and call.is_("ec2", *_CHANGES):
            members = self._members()
            for box in self._fleet.boxes():
                if box.state != "terminated":
                    hypervisor.apply_firewall(box.id, ingress(groups_of(box.instance), members))
        return reply

    def _members(self) -> dict[str, list[str]]:
        """Group id -> addresses of the instances in it."""
        members: dict[str, list[str]] = {}
        for box in self._fleet.boxes():
            if box.state != "terminated":
                for group in groups_of(box.instance):
                    members.setdefault(group.id, []).append(box.launch.address)
        return members


def groups_of(instance: Any) -> list[Any]:
    """The groups of an instance in order of their ids: its own and those of its interfaces."""
    found = {group.id: group for group in instance.security_groups}
    for interface in instance.nics.values():
        found.update({group.id: group for group in interface.group_set})
    return [found[name] for name in sorted(found)]


def ingress(groups: list[Any], members: dict[str, list[str]]) -> tuple[IngressRule, ...]:
    """What moto's groups let in. members: group id -> addresses, for rules that name a group as their source."""
    return tuple(
        IngressRule(str(rule.ip_protocol), _ports(rule), source)
        for group in groups
        for rule in group.ingress_rules
        for source in _sources(rule, members)
    )


def _sources(rule: Any, members: dict[str, list[str]]) -> list[str]:
    network = rule.ip_range.get("CidrIp")
    named = rule.source_group.get("GroupId")
    return ([network] if network else []) + [f"{address}/32" for address in members.get(named, [])]


def _ports(rule: Any) -> tuple[int, int] | None:
    if rule.from_port is None or int(rule.from_port) < 0:
        return None
    return int(rule.from_port), int(rule.to_port)
