"""A later end: on the record, where the instance looks, and on everything's tags."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from deployer.aws.tags import from_aws
from deployer.cli.app import run
from tests.cloud.ec2 import crashing

KEY = "deployer:expires-at"


def record(boto: Callable[..., Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(boto("ssm").get_parameter(Name="/deployer/stacks/demo")["Parameter"]["Value"])
    return found


def test_the_end_moves_everywhere_and_the_next_up_changes_nothing(operator: Any, boto: Callable[..., Any]) -> None:
    operator.up(ttl="8h")
    before = record(boto)["expires_at"]
    assert run(["extend", "demo", "4h"]) == 0
    assert record(boto)["expires_at"] == before + 4 * 3600
    shown = datetime.fromtimestamp(before + 4 * 3600, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert from_aws(operator.instances()[0]["Tags"])[KEY] == shown
    [volume] = boto("ec2").describe_volumes(Filters=[{"Name": "tag:deployer:stack", "Values": ["demo"]}])["Volumes"]
    assert from_aws(volume["Tags"])[KEY] == shown
    assert operator.target().list_stacks()[0].expires_at == before + 4 * 3600
    operator.events.clear()
    assert operator.up(ttl="8h").changes == 0
    assert record(boto)["expires_at"] == before + 4 * 3600
    operator.down()
    assert operator.resources() == []


def test_until_a_moment_for_the_only_stack(operator: Any, boto: Callable[..., Any], capsys: Any) -> None:
    operator.up(ttl="8h")
    assert run(["extend", "--until", "2099-12-24T18:00Z", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stack"] == "demo"
    assert datetime.fromtimestamp(record(boto)["expires_at"], UTC).isoformat() == "2099-12-24T18:00:00+00:00"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["extend", "demo", "--until", "2020-01-01T00:00Z"], 3, "no later than the end"),
        (["extend", "demo", "soon"], 2, "'soon' is no duration"),
        (["extend", "demo"], 2, "how much longer"),
        (["extend", "demo", "4h", "--until", "2099-01-01"], 2, "both"),
        (["extend", "demo", "--until", "tomorrow"], 2, "is no time"),
        (["extend", "other", "4h"], 3, "there is no stack other"),
    ],
)
def test_what_makes_no_sense_is_refused(operator: Any, capsys: Any, words: list[str], code: int, says: str) -> None:
    operator.up(ttl="8h")
    assert run(words) == code
    assert says in capsys.readouterr().err


def test_a_stack_whose_instance_is_gone_cannot_be_extended(
    operator: Any, boto: Callable[..., Any], capsys: Any
) -> None:
    operator.up(ttl="8h")
    boto("ec2").terminate_instances(InstanceIds=[operator.instances()[0]["InstanceId"]])
    assert run(["extend", "demo", "4h"]) == 3
    assert "no instance of stack demo runs" in capsys.readouterr().err


def test_killed_between_record_and_tags_the_record_counts_and_again_puts_it_right(
    operator: Any, boto: Callable[..., Any]
) -> None:
    operator.up(ttl="8h")
    before = record(boto)["expires_at"]
    operator.fault(service="ec2", operation="CreateTags", code="UnauthorizedOperation", status=403)
    assert run(["extend", "demo", "4h"]) == 3
    assert record(boto)["expires_at"] == before + 4 * 3600
    assert run(["extend", "demo", "1h"]) == 0
    assert record(boto)["expires_at"] == before + 5 * 3600
    assert crashing.run(dict(operator.settings.environ), "down") == 0
    assert operator.resources() == []


def test_a_stack_with_an_idle_time_is_kept_without_a_request(
    operator: Any, boto: Callable[..., Any], capsys: Any
) -> None:
    first = operator.up(ttl="8h", idle="30m").instance_id
    began = record(boto)
    assert (began["idle"], began["keep_until"]) == ("30m", 0.0)
    assert run(["ls"]) == 0
    assert "or 30 min 00 s idle" in capsys.readouterr().out
    assert run(["extend", "demo", "4h"]) == 0
    assert "is kept without a request until" in capsys.readouterr().out
    moved = record(boto)
    assert moved["expires_at"] == began["expires_at"] + 4 * 3600
    assert moved["keep_until"] == pytest.approx(time.time() + 4 * 3600, abs=60)
    assert operator.up(ttl="8h", idle="30m").changes == 0
    assert record(boto)["keep_until"] == moved["keep_until"]
    # Another idle time is another instance, whose count starts anew.
    [step] = [one for one in operator.target().plan(operator.deployment(idle="1h")).steps if one.kind == "instance"]
    assert step.reason.startswith("lifetime.idle was 30m and is 1h, and")
    assert operator.up(ttl="8h", idle="1h").instance_id != first
    assert record(boto)["keep_until"] == 0.0


def test_an_idle_time_alone_can_be_extended_to_a_moment(operator: Any, boto: Callable[..., Any], capsys: Any) -> None:
    operator.up(ttl="", idle="30m")
    assert run(["extend", "demo", "--until", "2099-12-24T18:00Z", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["expires_at"], told["keep_until"]) == (None, record(boto)["keep_until"])
    assert run(["extend", "demo", "2h"]) == 3
    assert "no later than the end" in capsys.readouterr().err
