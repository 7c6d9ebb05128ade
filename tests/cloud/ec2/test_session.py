"""The one way into AWS: who we are, and what its errors become."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import boto3
import pytest

from deployer.aws import errors
from deployer.aws.session import connect
from deployer.errors import AwsError, CapacityError, CredentialsError, RefusedError, UsageError
from deployer.events import Event
from tests.support.clock import FakeClock

CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


def test_missing_credentials_are_one_sentence_and_the_way_without(
    operator: Any, monkeypatch: pytest.MonkeyPatch, refused: Callable[..., Any]
) -> None:
    for name in CREDENTIALS:
        monkeypatch.delenv(name)
    monkeypatch.setattr(boto3, "Session", boto3.session.Session)
    error = refused(lambda: connect("cn-northwest-1", operator.settings))
    assert isinstance(error, CredentialsError)
    assert error.exit_code == 3
    assert "\n" not in error.message
    assert "deployer rehearse" in error.hint


def test_an_unknown_profile_is_a_credentials_error(operator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    monkeypatch.setattr(boto3, "Session", boto3.session.Session)
    with pytest.raises(CredentialsError, match="nobody"):
        connect("cn-northwest-1", replace(operator.settings, profile="nobody"))


def test_credentials_of_the_global_partition_are_refused_before_anything_else(
    operator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from deployer.aws.session import Aws

    def call(_self: Aws, service: str, operation: str, **_parameters: Any) -> dict[str, Any]:
        assert (service, operation) == ("sts", "GetCallerIdentity")
        return {"Account": "111122223333", "Arn": ":".join(["arn", "aws", "iam", "", "111122223333", "user/me"])}

    monkeypatch.setattr(Aws, "call", call)
    with pytest.raises(CredentialsError, match="belong to partition aws, but cn-northwest-1 is in aws-cn"):
        connect("cn-northwest-1", operator.settings)


def test_a_key_that_aws_does_not_know_is_explained(operator: Any, refused: Callable[..., Any]) -> None:
    operator.fault(service="sts", operation="GetCallerIdentity", code="InvalidClientTokenId", status=403)
    error = refused(lambda: connect("cn-northwest-1", operator.settings))
    assert isinstance(error, CredentialsError)
    assert "another partition" in error.message


def test_an_unknown_region_is_refused(operator: Any) -> None:
    with pytest.raises(RefusedError, match="mars-north-1"):
        connect("mars-north-1", operator.settings)


def test_an_error_carries_code_operation_and_request(operator: Any) -> None:
    operator.target()
    operator.fault(service="ec2", operation="DescribeVpcs", code="UnauthorizedOperation", status=403)
    with pytest.raises(AwsError) as caught:
        operator.aws.call("ec2", "DescribeVpcs")
    error = caught.value
    assert (error.aws_code, error.operation) == ("UnauthorizedOperation", "ec2:DescribeVpcs")
    assert error.request_id
    shown = errors.for_person(error)
    assert isinstance(shown, RefusedError)
    assert "ec2:DescribeVpcs" in shown.message


@pytest.mark.parametrize(
    ("code", "status", "requests"),
    [("RequestLimitExceeded", 503, 8), ("InternalError", 500, 4), ("InsufficientInstanceCapacity", 500, 1)],
)
def test_what_passes_is_asked_again_with_a_bound(operator: Any, code: str, status: int, requests: int) -> None:
    clock, said = FakeClock(), list[Event]()
    aws = connect("cn-northwest-1", operator.settings, clock=clock, emit=said.append)
    before, began = operator.cloud.record.count, clock.now()
    operator.fault(service="ec2", operation="DescribeVpcs", code=code, status=status, times=requests)
    with pytest.raises(AwsError, match=code):
        aws.call("ec2", "DescribeVpcs")
    assert operator.cloud.record.count - before == requests
    assert clock.now() - began <= 32
    assert [event.name for event in said] == ["waiting"] * max(requests - 2, 0)
    assert all(code in str(event.fields["observation"]) for event in said)


def test_what_passes_in_time_is_nobodys_trouble(operator: Any) -> None:
    aws = connect("cn-northwest-1", operator.settings, clock=FakeClock())
    operator.fault(service="ec2", operation="DescribeVpcs", code="RequestLimitExceeded", status=503, times=7)
    assert aws.call("ec2", "DescribeVpcs")["Vpcs"]


def test_nobody_at_the_endpoint_is_said_plainly(
    operator: Any, monkeypatch: pytest.MonkeyPatch, refused: Callable[..., Any]
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    error = refused(lambda: connect("cn-northwest-1", operator.settings, clock=FakeClock()))
    assert "no answer from AWS" in error.message


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("InsufficientInstanceCapacity", CapacityError),
        ("Server.InsufficientInstanceCapacity", CapacityError),
        ("VcpuLimitExceeded", RefusedError),
        ("AccessDenied", RefusedError),
        ("InvalidAMIID.NotFound", RefusedError),
        ("ExpiredToken", CredentialsError),
        ("RequestLimitExceeded", AwsError),
        ("SomethingNobodyKnows", AwsError),
    ],
)
def test_each_meaning_has_its_error(code: str, kind: type) -> None:
    raw = AwsError("x:Y: said so", aws_code=code, operation="x:Y", request_id="r-1", hint=errors.hint(code))
    shown = errors.for_person(raw)
    assert type(shown) is kind
    assert shown.hint
    assert shown.where == "x:Y"


def test_the_table_is_large_and_every_code_has_a_hint() -> None:
    assert len(errors.CODES) >= 40
    assert all(errors.hint(code) for code in errors.CODES)
    assert errors.meaning("SomethingNobodyKnows") == "unknown"


def test_half_of_a_key_is_a_credentials_error(
    operator: Any, monkeypatch: pytest.MonkeyPatch, refused: Callable[..., Any]
) -> None:
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setattr(boto3, "Session", boto3.session.Session)
    error = refused(lambda: connect("cn-northwest-1", operator.settings))
    assert isinstance(error, CredentialsError)
    assert "artial credentials" in error.message


@pytest.mark.parametrize("url", ["nonsense", "http://", "http://[::1"])
def test_an_endpoint_that_is_no_url_is_a_usage_error(
    operator: Any, monkeypatch: pytest.MonkeyPatch, refused: Callable[..., Any], url: str
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    monkeypatch.setattr(boto3, "Session", boto3.session.Session)
    error = refused(lambda: connect("cn-northwest-1", operator.settings))
    assert isinstance(error, UsageError)
    assert "AWS_ENDPOINT_URL" in error.hint


def test_an_account_that_is_being_verified_is_told_to_wait() -> None:
    assert "verifies" in errors.hint("PendingVerification")
