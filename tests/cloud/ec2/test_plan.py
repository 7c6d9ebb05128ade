"""Desired and observed as plain values: any combination gives one sound plan, or one typed refusal."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from deployer.aws.names import Names
from deployer.aws.resources.api_key import ApiKey
from deployer.aws.resources.instance import Instance
from deployer.aws.resources.instance_profile import InstanceProfile
from deployer.aws.resources.key_pair import KeyPair
from deployer.aws.resources.role import Role
from deployer.aws.resources.security_group import Rule, SecurityGroup
from deployer.errors import RefusedError
from deployer.reconcile.desired import Desired
from deployer.reconcile.observe import Observed
from deployer.reconcile.plan import choose, from_nothing, make
from deployer.reconcile.record import Record

NAMES = Names("demo", "cn-northwest-1")
RULES = frozenset({Rule(22, "203.0.113.7/32")})
WANTED = Desired(NAMES, "spec", "launch", "vpc-1", RULES, "ssh-ed25519 AAAA", "/keys/demo", "trust", "policy")
ORDER = [
    "stack-record",
    "api-key",
    "agent-program",
    "security-group",
    "key-pair",
    "role",
    "instance-profile",
    "instance",
]

ours = st.booleans()
states = st.sampled_from(["pending", "running", "stopping", "stopped", "shutting-down", "terminated"])


@st.composite
def instances(draw: Any) -> Instance:
    number = draw(st.integers(1, 5))
    return Instance(
        id=f"i-{number}",
        state=draw(states),
        type="g5.xlarge",
        zone="cn-northwest-1a",
        ours=draw(ours),
        generation=draw(st.integers(0, 3)),
        launch_digest=draw(st.sampled_from(["launch", "other", None])),
        launch=None,
        image="ami-1",
        launched_at=float(draw(st.integers(0, 9))),
        public_address=None,
        private_address=None,
        reason=None,
        tags={},
    )


@st.composite
def records(draw: Any) -> Record:
    return Record(
        stack="demo",
        region="cn-northwest-1",
        uid="u",
        generation=draw(st.integers(1, 3)),
        attempt=draw(st.integers(0, 3)),
        spec_digest=draw(st.sampled_from(["spec", "older"])),
        launch_digest=draw(st.sampled_from(["launch", "other"])),
        phase=draw(st.sampled_from(["creating", "booting", "ready", "failed", "deleting"])),
        created_at=0.0,
        expires_at=None,
        ids=draw(st.sampled_from([{}, {"instance": "i-1"}, {"instance": "i-9"}])),
    )


groups = st.builds(
    SecurityGroup,
    id=st.sampled_from(["sg-1", "sg-2"]),
    name=st.just(NAMES.security_group),
    vpc=st.sampled_from(["vpc-1", "vpc-2"]),
    ours=ours,
    rules=st.sampled_from([RULES, frozenset(), RULES | {Rule(8080, "0.0.0.0/0")}]),
    strange=st.sampled_from([(), ('{"IpProtocol":"-1"}',)]),
)
observations = st.builds(
    Observed,
    record=st.none() | records(),
    api_key=st.none() | st.builds(ApiKey, name=st.just(NAMES.api_key), ours=ours),
    groups=st.lists(groups, max_size=2, unique_by=lambda g: g.vpc).map(tuple),
    key_pair=st.none()
    | st.builds(
        KeyPair,
        id=st.just("key-1"),
        name=st.just(NAMES.key_pair),
        ours=ours,
        public_key=st.sampled_from([None, "ssh-ed25519 AAAA", "ssh-ed25519 BBBB"]),
    ),
    role=st.none()
    | st.builds(
        Role,
        name=st.just(NAMES.role),
        ours=ours,
        trust=st.sampled_from(["trust", "else"]),
        policy=st.sampled_from(["policy", "else", None]),
    ),
    profile=st.none()
    | st.builds(
        InstanceProfile,
        name=st.just(NAMES.instance_profile),
        ours=ours,
        roles=st.sampled_from([(), (NAMES.role,), ("stranger",)]),
    ),
    instances=st.lists(instances(), max_size=4, unique_by=lambda one: one.id).map(tuple),
)


def strangers(seen: Observed) -> bool:
    named = [seen.api_key, seen.key_pair, seen.role, seen.profile]
    return any(thing is not None and not thing.ours for thing in named) or any(
        not group.ours and group.vpc == "vpc-1" for group in seen.groups
    )


@given(observations)
@settings(max_examples=400)
def test_every_plan_is_sound(seen: Observed) -> None:
    try:
        plan = make(WANTED, seen)
    except RefusedError:
        assert strangers(seen)
        return
    assert not strangers(seen)
    # A name that is taken by a stranger never appears as something to change.
    kept_or_made = [step.kind for step in plan.steps if step.action != "delete"]
    assert kept_or_made == ORDER
    assert all(step.reason for step in plan.steps)
    choice = choose(WANTED, seen)
    deleted = {step.name for step in plan.steps if step.kind == "instance" and step.action == "delete"}
    mine = {one.id for one in seen.live}
    assert deleted <= mine
    [step] = [s for s in plan.steps if s.kind == "instance" and s.action != "delete"]
    match step.action:
        case "create":
            assert not mine
        case "replace":
            # Create before destroy: nothing is deleted by this plan's own steps.
            assert mine
            assert not deleted
        case "keep" | "update":
            assert choice.current is not None
            assert deleted == mine - {choice.current.id}
    foreign = {one.id for one in seen.instances if not one.ours}
    assert not deleted & foreign


@given(observations)
@settings(max_examples=100)
def test_the_same_values_give_the_same_plan(seen: Observed) -> None:
    def outcome() -> Any:
        try:
            return make(WANTED, seen)
        except RefusedError as error:
            return error.message

    assert outcome() == outcome()


def test_nothing_observed_is_the_offline_plan() -> None:
    online, offline = make(WANTED, Observed()), from_nothing(NAMES, own_security_group=True)
    assert [(s.action, s.kind, s.name) for s in online.steps] == [(s.action, s.kind, s.name) for s in offline.steps]
