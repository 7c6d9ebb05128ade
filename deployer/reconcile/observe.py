"""Everything of one stack that AWS shows, looked at in parallel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from deployer.aws.names import Names
from deployer.aws.resources import agent_program, api_key, instance, instance_profile, key_pair, role, security_group
from deployer.aws.resources.agent_program import AgentProgram
from deployer.aws.resources.api_key import ApiKey
from deployer.aws.resources.instance import Instance
from deployer.aws.resources.instance_profile import InstanceProfile
from deployer.aws.resources.key_pair import KeyPair
from deployer.aws.resources.role import Role
from deployer.aws.resources.security_group import SecurityGroup
from deployer.aws.session import Aws
from deployer.reconcile import parallel
from deployer.reconcile import record as records
from deployer.reconcile.record import Record


@dataclass(frozen=True)
class Observed:
    """What lies under our names and our tags, ours or not. The defaults are an account that knows nothing of us."""

    record: Record | None = None
    api_key: ApiKey | None = None
    groups: tuple[SecurityGroup, ...] = ()
    key_pair: KeyPair | None = None
    role: Role | None = None
    profile: InstanceProfile | None = None
    instances: tuple[Instance, ...] = ()
    programs: tuple[AgentProgram, ...] = ()

    @property
    def live(self) -> tuple[Instance, ...]:
        """Our instances that are not on their way out."""
        return tuple(one for one in self.instances if one.ours and one.live)


def observe(aws: Aws, names: Names, **more: Callable[[], Any]) -> tuple[Observed, dict[str, Any]]:
    """Look at everything at once; `more` are further look-ups to run beside, their results come back by name."""
    looks: dict[str, Callable[[], Any]] = {
        "record": lambda: records.read(aws, names),
        "instances": lambda: instance.with_notices(aws, instance.observe(aws, names.stack)),
        "groups": lambda: security_group.observe(aws, names),
        "role": lambda: role.observe(aws, names),
        "profile": lambda: instance_profile.observe(aws, names),
        "key_pair": lambda: key_pair.observe(aws, names),
        "api_key": lambda: api_key.observe(aws, names),
        "programs": lambda: agent_program.observe(aws, names),
        **more,
    }
    seen = parallel.gather(looks)
    observed = Observed(
        record=seen["record"],
        api_key=seen["api_key"],
        groups=tuple(seen["groups"]),
        key_pair=seen["key_pair"],
        role=seen["role"],
        profile=seen["profile"],
        instances=_with_recorded(aws, names, seen["record"], seen["instances"]),
        programs=tuple(seen["programs"]),
    )
    return observed, {name: seen[name] for name in more}


def _with_recorded(aws: Aws, names: Names, record: Record | None, found: list[Instance]) -> tuple[Instance, ...]:
    """Add the recorded instance when the look by tag does not show it: it may be fresh, or may have lost its tag."""
    recorded = record.ids.get("instance") if record else None
    if recorded is None or any(one.id == recorded for one in found):
        return tuple(found)
    one = instance.by_id(aws, names.stack, recorded)
    return tuple(found) if one is None else (*found, one)
