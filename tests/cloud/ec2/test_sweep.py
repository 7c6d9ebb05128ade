"""`sweep`: what nobody looks after goes, what somebody works on or what is not ours stays."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from deployer.cli.app import run
from deployer.errors import RefusedError
from deployer.reconcile.lease import Lease
from deployer.reconcile.orphans import GRACE_SECONDS
from deployer.targets.sweeping import Sweeper
from tests.cloud.ec2 import crashing
from tests.cloud.ec2.support import REGION


class Later:
    """The machine's clock, some seconds ahead; sleeping takes no time."""

    def __init__(self, real: Any, ahead: float) -> None:
        self._real, self._ahead = real, ahead

    def now(self) -> float:
        return float(self._real.now()) + self._ahead

    def monotonic(self) -> float:
        return float(self._real.monotonic()) + self._ahead

    def sleep(self, seconds: float) -> None:
        self._ahead += seconds


@pytest.fixture
def sweeper(operator: Any) -> Callable[..., Sweeper]:
    """A sweeper some seconds from now, long after the grace for young things."""

    def make(ahead: float = GRACE_SECONDS + 3600) -> Sweeper:
        return Sweeper(operator.settings, REGION, Later(operator.clock, ahead), operator.events.append)

    return make


def test_a_stack_that_serves_is_no_orphan_until_its_time_is_over(operator: Any, sweeper: Any) -> None:
    operator.up(ttl="8h")
    assert sweeper().find() == []
    [over] = sweeper(8 * 3600 + 1).find()
    assert over.why == "is over its time to live"
    assert {thing.kind for thing in over.things} >= {"instance", "security-group", "key-pair", "role", "parameter"}
    assert sweeper(8 * 3600 + 1).sweep([over]).deleted == ("demo",)
    assert operator.resources() == []


def test_what_a_kill_left_goes_and_strangers_stay(operator: Any, sweeper: Any, boto: Callable[..., Any]) -> None:
    theirs = boto("iam").create_role(RoleName=f"deployer-other-role-{REGION}", AssumeRolePolicyDocument="{}")
    before = operator.resources()
    assert crashing.run(dict(operator.settings.environ), "up", at="RunInstances", side="before") == crashing.KILLED
    assert sweeper(0).find() == []
    [orphan] = sweeper().find()
    assert (orphan.stack, orphan.why) == ("demo", "was made half and has no instance")
    assert sweeper().sweep([orphan]).deleted == ("demo",)
    assert operator.resources() == before
    assert theirs["Role"]["RoleName"]


def test_a_record_that_was_deleted_leaves_an_orphan_that_is_found_by_its_tags(
    operator: Any, sweeper: Any, boto: Callable[..., Any]
) -> None:
    operator.up()
    boto("ssm").delete_parameter(Name="/deployer/stacks/demo")
    [orphan] = sweeper(GRACE_SECONDS + 3600).find()
    assert orphan.why == "has no record"
    assert [one.instance_type for one in orphan.instances] == ["g5.xlarge"]
    sweeper().sweep([orphan])
    assert operator.resources() == []


def test_an_instance_that_was_ended_by_hand_leaves_the_rest_to_sweep(
    operator: Any, sweeper: Any, boto: Callable[..., Any]
) -> None:
    operator.up()
    boto("ec2").terminate_instances(InstanceIds=[operator.instances()[0]["InstanceId"]])
    [orphan] = sweeper().find()
    assert orphan.why == "lost its instance"
    assert sweeper().sweep([orphan]).deleted == ("demo",)
    assert operator.resources() == []


def test_a_stack_that_was_taken_up_meanwhile_is_left_alone(operator: Any, sweeper: Any) -> None:
    assert crashing.run(dict(operator.settings.environ), "up", at="RunInstances", side="before") == crashing.KILLED
    [orphan] = sweeper().find()
    operator.up()
    done = sweeper().sweep([orphan])
    assert (done.deleted, done.kept) == ((), ("demo",))
    assert len(operator.instances()) == 1


def test_a_living_lease_protects(operator: Any, sweeper: Any) -> None:
    assert crashing.run(dict(operator.settings.environ), "up", at="RunInstances", side="before") == crashing.KILLED
    target = operator.target()
    from deployer.aws.names import Names
    from deployer.events import ignore

    with Lease(target._aws(), Names("demo", REGION), Later(operator.clock, GRACE_SECONDS + 3600), ignore):
        assert sweeper(GRACE_SECONDS + 3600).find() == []


def test_half_a_census_is_no_census(operator: Any, sweeper: Any) -> None:
    operator.up()
    operator.fault(service="ssm", operation="GetParametersByPath", code="AccessDeniedException", times=0)
    with pytest.raises(RefusedError, match="ssm:GetParametersByPath"):
        sweeper().find()


def test_without_a_terminal_it_only_lists(operator: Any, boto: Callable[..., Any], capsys: Any) -> None:
    operator.up()
    instance = operator.instances()[0]["InstanceId"]
    past = [{"Key": "deployer:expires-at", "Value": "2020-01-01T00:00:00Z"}]
    boto("ec2").create_tags(Resources=[instance], Tags=past)
    boto("ssm").delete_parameter(Name="/deployer/stacks/demo")
    assert run(["sweep", "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)["orphans"]
    assert (row["stack"], row["why"]) == ("demo", "is over its time to live")
    assert len(operator.instances()) == 1
    assert run(["sweep", "--older-than", "2d", "--yes"]) == 0
    assert "nothing to sweep" in capsys.readouterr().out
    assert run(["sweep", "--yes", "--region", REGION, "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["deleted"] == ["demo"]
    assert operator.resources() == []


def test_what_cannot_be_deleted_is_exit_7(operator: Any, boto: Callable[..., Any], capsys: Any) -> None:
    operator.up()
    instance = operator.instances()[0]["InstanceId"]
    past = [{"Key": "deployer:expires-at", "Value": "2020-01-01T00:00:00Z"}]
    boto("ec2").create_tags(Resources=[instance], Tags=past)
    boto("ssm").delete_parameter(Name="/deployer/stacks/demo")
    operator.fault(service="iam", operation="DeleteRole", code="AccessDenied", status=403, times=0)
    assert run(["sweep", "--yes"]) == 7
    assert "iam:DeleteRole" in capsys.readouterr().err
    operator.cloud.faults.clear()


def test_an_empty_account_needs_nothing(operator: Any, capsys: Any) -> None:
    assert run(["sweep"]) == 0
    assert "nothing to sweep" in capsys.readouterr().out
