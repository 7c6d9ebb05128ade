"""A thing made moments ago may be missing from describes (E5). Off unless `lag_seconds` is set.

How late an id is follows from the seed and the id, so that a run can be repeated.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

from deployer.rehearsal.fidelity.call import Call, Proceed, Reply, Rule
from deployer.rehearsal.fidelity.world import World


class Consistency:
    """Remembers when ids were first seen by a call that makes things; hides them from describes until they are old."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._born: dict[str, float] = {}

    def install(self, backend: Any) -> None:
        """Hide fresh instances and groups of one EC2 backend. moto reads both through these two methods."""
        reservations: Callable[..., list[Any]] = backend.all_reservations
        groups: Callable[..., list[Any]] = backend.describe_security_groups

        def all_reservations(filters: Any = None) -> list[Any]:
            found = reservations(filters)
            if not self._describing:
                return found
            for reservation in found:
                reservation.instances = [i for i in reservation.instances if not self.hidden(i.id)]
            return [reservation for reservation in found if reservation.instances]

        def describe_security_groups(
            group_ids: list[str] | None = None, groupnames: list[str] | None = None, filters: Any = None
        ) -> list[Any]:
            found = groups(group_ids, groupnames, filters)
            if not self._describing:
                return found
            late = [group for group in found if self.hidden(group.id)]
            if late and (group_ids or groupnames):
                from moto.ec2.exceptions import InvalidSecurityGroupNotFoundError

                raise InvalidSecurityGroupNotFoundError(late[0].id)
            return [group for group in found if group not in late]

        backend.all_reservations = all_reservations
        backend.describe_security_groups = describe_security_groups

    def born(self, identifier: str) -> None:
        """A thing was made just now."""
        self._born.setdefault(identifier, self._world.clock.monotonic())

    def hidden(self, identifier: str) -> bool:
        """Whether a describe does not see it yet."""
        most = self._world.options.lag_seconds
        born = self._born.get(identifier)
        if most <= 0 or born is None:
            return False
        share = random.Random(f"{self._world.options.lag_seed}:{identifier}").uniform(0.5, 1.0)  # noqa: S311
        return self._world.clock.monotonic() - born < most * share

    @property
    def _describing(self) -> bool:
        call = self._world.current
        return call is not None and call.operation.startswith("Describe")


_INSTANCE = re.compile(rb"<instanceId>(i-[0-9a-f]+)</")
_GROUP = re.compile(rb"<groupId>(sg-[0-9a-f]+)</")


def birth_register(consistency: Consistency) -> Rule:
    """The rule that notes the ids a call has made."""

    def rule(call: Call, proceed: Proceed) -> Reply:
        reply = proceed(call)
        pattern = {"RunInstances": _INSTANCE, "CreateSecurityGroup": _GROUP}.get(call.operation)
        if call.service == "ec2" and pattern and reply.status == 200:
            for identifier in pattern.findall(reply.body):
                consistency.born(identifier.decode())
        return reply

    return rule
