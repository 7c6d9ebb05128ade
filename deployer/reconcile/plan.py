"""Desired and observed -> ordered steps with reasons. Pure: the same values always give the same plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deployer.access.keys import MISSING_HINT
from deployer.aws.names import Names
from deployer.aws.tags import PROGRAM
from deployer.errors import RefusedError
from deployer.targets.base import Plan, Step

if TYPE_CHECKING:
    # An offline plan is made without loading any of these.
    from deployer.aws.resources.instance import Instance
    from deployer.aws.resources.security_group import SecurityGroup
    from deployer.reconcile.desired import Desired
    from deployer.reconcile.observe import Observed


@dataclass(frozen=True)
class Choice:
    """current: the instance that serves, or will. others: instances of ours to end once current is healthy."""

    current: Instance | None
    others: tuple[Instance, ...]


def choose(desired: Desired, observed: Observed) -> Choice:
    """Current is a live instance launched as desired, with the API key: the recorded one first, else the newest one.

    One that AWS takes back is none: another must be there when it ends.
    """
    recorded = observed.record.ids.get("instance") if observed.record else None
    fitting = [one for one in _as_desired(desired, observed) if _has_key(one, observed) and not one.interrupted]
    fitting.sort(key=lambda one: (one.id == recorded, one.generation, one.launched_at, one.id))
    current = fitting[-1] if fitting else None
    return Choice(current, tuple(one for one in observed.live if one is not current))


def _as_desired(desired: Desired, observed: Observed) -> list[Instance]:
    return [
        one
        for one in observed.live
        if _digest(one, observed) == desired.launch_digest and one.market in desired.markets
    ]


def _has_key(one: Instance, observed: Observed) -> bool:
    """An instance reads the key once, while it boots: one that is older than the stored key has another."""
    key = observed.api_key
    return key is not None and not 0 < one.generation < key.generation


def _digest(one: Instance, observed: Observed) -> str | None:
    """The tag; when somebody removed it, the record knows the recorded instance's."""
    record = observed.record
    known = record.launch_digest if record and record.ids.get("instance") == one.id else None
    return one.launch_digest or known


def make(desired: Desired, observed: Observed) -> Plan:
    """The steps in dependency order. Raises RefusedError when a name is taken by something that is not ours."""
    choice = choose(desired, observed)
    steps = [
        _record(desired, observed),
        _api_key(desired, observed),
        *_program(desired, observed, choice),
        *_security_group(desired, observed),
        _key_pair(desired, observed),
        _role(desired, observed),
        _profile(desired, observed),
        *_instance(desired, observed, choice),
        *_tags(desired, observed, choice),
    ]
    return Plan(tuple(steps))


def from_nothing(names: Names, *, own_security_group: bool) -> Plan:
    """The plan for an account that knows nothing of the stack; needs no AWS."""
    from deployer.render.program import program

    why = "first launch"
    steps = [
        Step("create", "stack-record", names.record, "written before anything that costs money"),
        Step("create", "api-key", names.api_key, why),
        Step("create", "agent-program", f"{names.programs}/{program().mark}", why),
        Step("create", "security-group", names.security_group, why),
        Step("create", "key-pair", names.key_pair, why),
        Step("create", "role", names.role, why),
        Step("create", "instance-profile", names.instance_profile, why),
        Step("create", "instance", names.instance, why),
    ]
    return Plan(tuple(step for step in steps if own_security_group or step.kind != "security-group"))


def _record(desired: Desired, observed: Observed) -> Step:
    name, record = desired.names.record, observed.record
    if record is None:
        return Step("create", "stack-record", name, "written before anything that costs money")
    if record.spec_digest != desired.spec_digest:
        return Step("update", "stack-record", name, "the spec changed")
    return Step("keep", "stack-record", name, f"generation {record.generation}, {record.phase}")


def _api_key(desired: Desired, observed: Observed) -> Step:
    name = desired.names.api_key
    if observed.api_key is None:
        return Step("create", "api-key", name, "does not exist")
    if not observed.api_key.ours:
        raise _foreign("parameter", name)
    return Step("keep", "api-key", name, "exists")


def _program(desired: Desired, observed: Observed, choice: Choice) -> list[Step]:
    """What the instance that shall serve fetches; others stay for as long as the instances do that need them."""
    name = f"{desired.names.programs}/{desired.program.mark}"
    here = next((one for one in observed.programs if one.name == name), None)
    needed = choice.current.tags.get(PROGRAM, "") if choice.current else desired.program.mark
    ends = [
        Step("delete", "agent-program", one.name, "no instance needs it")
        for one in observed.programs
        if one.ours and one.mark != needed
    ]
    if needed != desired.program.mark:
        known = f"{desired.names.programs}/{needed}" if needed else name
        return [Step("keep", "agent-program", known, "the instance runs this version of the agent"), *ends]
    if here is not None and not here.ours:
        raise _foreign("parameter", name)
    parts = desired.program_parts
    missing = [part for part, value in parts.items() if here is None or here.parts.get(part) != value]
    if here is None:
        return [Step("create", "agent-program", name, f"{len(parts)} parts do not exist"), *ends]
    if missing:
        why = f"{len(missing)} of {len(parts)} parts are missing or damaged"
        return [Step("update", "agent-program", name, why), *ends]
    return [Step("keep", "agent-program", name, "stored"), *ends]


def _security_group(desired: Desired, observed: Observed) -> list[Step]:
    name = desired.names.security_group
    ours = [group for group in observed.groups if group.ours]
    if desired.rules is None:
        return [Step("delete", "security-group", g.id, "the spec brings its own security group") for g in ours]
    if any(g.name == name and g.vpc == desired.vpc and not g.ours for g in observed.groups):
        raise _foreign("security group", name)
    here = next((g for g in ours if g.vpc == desired.vpc and g.name == name), None)
    others = [Step("delete", "security-group", g.id, f"left in {g.vpc}") for g in ours if g is not here]
    if here is None:
        return [Step("create", "security-group", name, f"does not exist in {desired.vpc}"), *others]
    reason = _drift(desired.rules, here)
    return [Step("update" if reason else "keep", "security-group", name, reason or "rules are as desired"), *others]


def _drift(rules: frozenset[object], group: SecurityGroup) -> str:
    missing = sorted(str(rule) for rule in rules - group.rules)
    extra = sorted(str(rule) for rule in group.rules - rules) + list(group.strange)
    parts = [f"add {', '.join(missing)}"] if missing else []
    return "; ".join(parts + ([f"remove {', '.join(extra)}"] if extra else []))


def _key_pair(desired: Desired, observed: Observed) -> Step:
    name, pair = desired.names.key_pair, observed.key_pair
    if pair is None:
        return Step("create", "key-pair", name, "does not exist")
    if not pair.ours:
        raise _foreign("key pair", name)
    if desired.public_key is None:
        if observed.live:
            raise RefusedError(
                f"the private key of {name} is not on this machine (expected at {desired.key_place})",
                where=name,
                hint=f"{MISSING_HINT}; without it: `deployer down` and `up` again",
            )
        return Step("replace", "key-pair", name, "its private key is not on this machine, and nothing uses it")
    if pair.public_key is not None and pair.public_key != desired.public_key:
        return Step("replace", "key-pair", name, f"it is not the key at {desired.key_place}")
    return Step("keep", "key-pair", name, "exists")


def _role(desired: Desired, observed: Observed) -> Step:
    name, role = desired.names.role, observed.role
    if role is None:
        return Step("create", "role", name, "does not exist")
    if not role.ours:
        raise _foreign("role", name)
    wrong = [
        what
        for what, is_wrong in (("trust", role.trust != desired.trust), ("policy", role.policy != desired.policy))
        if is_wrong
    ]
    if wrong:
        return Step("update", "role", name, f"{' and '.join(wrong)} not as desired")
    return Step("keep", "role", name, "policy is as desired")


def _profile(desired: Desired, observed: Observed) -> Step:
    name, profile = desired.names.instance_profile, observed.profile
    if profile is None:
        return Step("create", "instance-profile", name, "does not exist")
    if not profile.ours:
        raise _foreign("instance profile", name)
    if profile.roles != (desired.names.role,):
        return Step("update", "instance-profile", name, f"holds {', '.join(profile.roles) or 'no role'}")
    return Step("keep", "instance-profile", name, "holds our role")


def _instance(desired: Desired, observed: Observed, choice: Choice) -> list[Step]:
    name, current = desired.names.instance, choice.current
    ends = [Step("delete", "instance", one.id, f"generation {one.generation} is not wanted") for one in choice.others]
    if current is None and choice.others:
        olds = ", ".join(one.id for one in choice.others)
        why = f"{_why_replace(desired, observed)}; {olds} stays until the new one is healthy"
        return [Step("replace", "instance", name, why)]
    if current is None:
        return [Step("create", "instance", name, _why_create(observed))]
    if current.state in ("stopping", "stopped"):
        return [Step("update", "instance", name, f"{current.id} is {current.state}: start it"), *ends]
    return [Step("keep", "instance", name, f"{current.id} is {current.state}"), *ends]


def _why_replace(desired: Desired, observed: Observed) -> str:
    taken = [one.id for one in _as_desired(desired, observed) if one.interrupted]
    if taken:
        return f"AWS takes {', '.join(taken)} back (spot interruption)"
    if _as_desired(desired, observed):
        return "its API key is gone" if observed.api_key is None else "its API key is not the one that is stored"
    record = observed.record
    if record is not None and record.ids:
        for key, was, now in (("ttl", record.ttl, desired.ttl), ("idle", record.idle, desired.idle)):
            if was != now:
                why = "what the instance was launched with cannot be changed from here"
                return f"lifetime.{key} was {was or 'none'} and is {now or 'none'}, and {why}"
    if any(_digest(one, observed) == desired.launch_digest for one in observed.live):
        was = ", ".join(sorted({one.market for one in observed.live}))
        return f"instance.market was {was} and is {' or '.join(desired.markets)}"
    return "launch settings differ"


@dataclass(frozen=True)
class TagChange:
    """The user's tags to set, and the keys to take off."""

    put: Mapping[str, str]
    gone: tuple[str, ...]


def tag_change(desired: Desired, observed: Observed, choice: Choice) -> TagChange:
    """What the instance's own tags tell of everything that was made with it. Tags of others are left alone."""
    known = choice.current or (choice.others[-1] if choice.others else None)
    if known is None:
        return TagChange({}, ())
    put = {key: value for key, value in desired.user_tags.items() if known.tags.get(key) != value}
    made = observed.record.tag_keys if observed.record else ()
    return TagChange(put, tuple(key for key in made if key in known.tags and key not in desired.user_tags))


def _tags(desired: Desired, observed: Observed, choice: Choice) -> list[Step]:
    change = tag_change(desired, observed, choice)
    parts = [f"set {', '.join(f'{key}={value}' for key, value in sorted(change.put.items()))}"] if change.put else []
    parts += [f"remove {', '.join(change.gone)}"] if change.gone else []
    return [Step("update", "tags", desired.names.stack, "; ".join(parts))] if parts else []


def _why_create(observed: Observed) -> str:
    record = observed.record
    if record is None:
        return "does not exist"
    if record.intent is not None:
        return f"launch attempt {record.intent.attempt} was begun and nothing shows yet"
    recorded = record.ids.get("instance")
    gone = next((one for one in observed.instances if one.id == recorded), None)
    if gone is not None:
        return f"{gone.id} is {gone.state}" + (f" ({gone.reason})" if gone.reason else "")
    return f"{recorded} is gone" if recorded else "does not exist"


def _foreign(kind: str, name: str) -> RefusedError:
    return RefusedError(
        f"a {kind} named {name} exists without our tag, so it is not ours and is left alone",
        where=name,
        hint="choose another stack name, or remove it if nobody needs it",
    )
