"""Two operators, a console, a spot market and a network that fails, in any order: nothing doubles, nothing of others is
touched, sweep finds exactly what is left, and a last `down` leaves nothing.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from deployer.errors import DeployerError
from deployer.rehearsal.cloud import REGION, Cloud
from deployer.settings import Settings
from tests.cloud.conftest import INSTANT, client_of, fresh_account, settled_heap
from tests.cloud.ec2 import crashing
from tests.cloud.ec2.support import HastyClock, Operator, environment
from tests.crash.account import furnish, snapshot
from tests.crash.operating import LEASE_SECONDS, Ahead

WHO = st.sampled_from(["ann", "bob"])
CONTEXT = st.sampled_from([4096, 8192])
SIDE = st.sampled_from(["before", "after"])
#: What an up or a down asks; a new one is found by the other tests here, which count.
CALLS = [
    ("ec2", "RunInstances"),
    ("ec2", "DescribeInstances"),
    ("ec2", "TerminateInstances"),
    ("ec2", "CreateSecurityGroup"),
    ("ec2", "DeleteSecurityGroup"),
    ("ec2", "ImportKeyPair"),
    ("iam", "CreateRole"),
    ("iam", "PutRolePolicy"),
    ("iam", "DeleteRole"),
    ("iam", "CreateInstanceProfile"),
    ("ssm", "PutParameter"),
    ("ssm", "GetParameter"),
    ("ssm", "DeleteParameter"),
]
DENIED = {"ec2": "UnauthorizedOperation", "iam": "AccessDenied", "ssm": "AccessDeniedException"}


class Interleavings(RuleBasedStateMachine):
    """One account; the model is only who of the instances is a stranger's."""

    def __init__(self) -> None:
        super().__init__()
        settled_heap()
        self.home = Path(tempfile.mkdtemp())
        self.cloud = Cloud(account=fresh_account(), options=INSTANT)
        os.environ["AWS_ENDPOINT_URL"] = self.cloud.url
        furnish(self.cloud.url)
        self.before = snapshot(self.cloud.url)
        self.operators: dict[str, Operator] = {}

    @initialize()
    def arrive(self) -> None:
        clock = HastyClock()
        for name in ("ann", "bob"):
            made = Settings.from_env(environment(self.cloud.url, self.home / name))
            self.operators[name] = Operator(self.cloud, made, clock=clock)

    @rule(who=WHO, context=CONTEXT, healthy=st.booleans(), market=st.sampled_from(["on-demand", "spot"]))
    def up(self, who: str, context: int, healthy: bool, market: str) -> None:
        one = self.operators[who]
        one.healthy = healthy
        with contextlib.suppress(DeployerError):
            one.target(lock_wait_seconds=LEASE_SECONDS).up(one.deployment(context=context, market=market))

    @rule(who=WHO)
    def down(self, who: str) -> None:
        with contextlib.suppress(DeployerError):
            self.operators[who].target(lock_wait_seconds=LEASE_SECONDS).down("demo")

    @rule(who=WHO)
    def extend(self, who: str) -> None:
        with contextlib.suppress(DeployerError):
            self.operators[who].target(lock_wait_seconds=LEASE_SECONDS).extend("demo", by=600.0, until=None)

    @rule(who=WHO)
    def sweep(self, who: str) -> None:
        with contextlib.suppress(DeployerError):
            sweeper = self._sweeper(who)
            sweeper.sweep(sweeper.find())

    @rule(
        who=WHO, verb=st.sampled_from(["up", "down"]), at=st.integers(1, 45), side=st.sampled_from(["before", "after"])
    )
    def die(self, who: str, verb: Any, at: int, side: Any) -> None:
        environ = dict(self.operators[who].settings.environ)
        assert crashing.run(environ, verb, at=at, side=side) in (0, 3, 5, 6, 7, crashing.KILLED)

    @rule(call=st.sampled_from(CALLS), lost=st.booleans(), skip=st.integers(0, 2))
    def break_a_call(self, call: tuple[str, str], lost: bool, skip: int) -> None:
        service, operation = call
        how = {"when": "after"} if lost else {"code": DENIED[service], "status": 403}
        self.operators["ann"].fault(service=service, operation=operation, skip=skip, **how)

    @rule()
    def repair_the_network(self) -> None:
        self.cloud.faults.clear()

    @precondition(lambda self: self.cloud.fleet.boxes())
    @rule(how=st.sampled_from(["terminate", "stop", "notice", "reclaim"]))
    def interrupt(self, how: str) -> None:
        """Somebody ends or stops an instance, or the spot market takes its own back: at once, or some time later."""
        if how in ("notice", "reclaim"):
            self.cloud.fleet.reclaim("deployer:stack", "demo", 0.0 if how == "reclaim" else 3600.0)
            return
        ec2 = client_of(self.cloud.url, "ec2")
        ids = [box.id for box in self._ours()]
        if ids:
            with contextlib.suppress(ec2.exceptions.ClientError):
                (ec2.terminate_instances if how == "terminate" else ec2.stop_instances)(InstanceIds=ids[:1])

    @rule(what=st.sampled_from(["rule", "key-pair", "api-key", "record", "policy"]))
    def click_around(self, what: str) -> None:
        """Somebody changes our things in the console."""
        ec2, ssm, iam = (client_of(self.cloud.url, name) for name in ("ec2", "ssm", "iam"))
        name = f"deployer-demo-role-{REGION}"
        with contextlib.suppress(ec2.exceptions.ClientError, ssm.exceptions.ClientError, iam.exceptions.ClientError):
            match what:
                case "rule":
                    wanted = [{"Name": "tag:deployer:stack", "Values": ["demo"]}]
                    for group in ec2.describe_security_groups(Filters=wanted)["SecurityGroups"]:
                        ec2.authorize_security_group_ingress(
                            GroupId=group["GroupId"], IpProtocol="tcp", FromPort=22, ToPort=22, CidrIp="0.0.0.0/0"
                        )
                case "key-pair":
                    ec2.delete_key_pair(KeyName="deployer-demo-key-pair")
                case "api-key":
                    ssm.delete_parameter(Name="/deployer/keys/demo")
                case "record":
                    ssm.delete_parameter(Name="/deployer/stacks/demo")
                case "policy":
                    iam.delete_role_policy(RoleName=name, PolicyName="deployer")

    @invariant()
    def no_generation_has_two(self) -> None:
        tags = [tag for box in self._ours() for tag in box.instance.get_tags()]
        generations = [tag["value"] for tag in tags if tag["key"] == "deployer:generation"]
        assert len(generations) == len(set(generations)), generations

    @invariant()
    def sweep_finds_exactly_what_is_there(self) -> None:
        if not self.operators or self.cloud.faults.listing():
            return
        there = snapshot(self.cloud.url) != self.before
        found = [(one.stack, one.why) for one in self._sweeper("ann").find()]
        assert [stack for stack, _ in found] == (["demo"] if there else []), found

    def teardown(self) -> None:
        try:
            self.cloud.faults.clear()
            if self.operators:
                self.operators["bob"].target(lock_wait_seconds=LEASE_SECONDS).down("demo")
            assert snapshot(self.cloud.url) == self.before, self.cloud.status()
        finally:
            self.cloud.close()
            shutil.rmtree(self.home)

    def _sweeper(self, who: str) -> Any:
        """Long after every stack is over."""
        from deployer.targets.sweeping import Sweeper

        one = self.operators[who]
        made = Sweeper(one.settings, REGION, Ahead(one.clock, 365 * 86400.0), one.events.append)
        one.target()
        made._target._connected = one.aws
        return made

    def _ours(self) -> list[Any]:
        return [
            box
            for box in self.cloud.fleet.boxes()
            if box.state not in ("terminated", "shutting-down")
            and any(tag["key"] == "deployer:stack" for tag in box.instance.get_tags())
        ]


TestInterleavings = Interleavings.TestCase
TestInterleavings.settings = settings(
    max_examples=20,
    stateful_step_count=8,
    deadline=None,
    database=None,
    # The same every time: what a gate says must not depend on luck. `--hypothesis-seed` looks elsewhere.
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(autouse=True)
def surroundings(operator: object) -> None:
    """boto3 with its service models read once."""
