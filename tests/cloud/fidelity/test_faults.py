"""E9, E13, E14: errors on order leave nothing behind; lost replies leave exactly one thing behind."""

from __future__ import annotations

import json
import urllib.request

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError

from deployer.rehearsal.fidelity.faults import Fault


def _post(cloud, path: str, document: object, method: str = "POST") -> dict:
    request = urllib.request.Request(f"{cloud.url}/_sandbox/{path}", json.dumps(document).encode(), method=method)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


@pytest.mark.parametrize(
    "code", ["InsufficientInstanceCapacity", "VcpuLimitExceeded", "Unsupported", "UnauthorizedOperation"]
)
def test_an_injected_error_surfaces_and_leaves_nothing(cloud, ec2, refused, code):
    _post(cloud, "faults", {"service": "ec2", "operation": "RunInstances", "code": code, "times": 1})
    assert refused(ec2.run, ClientToken="t") == code
    assert ec2.count() == 0
    assert ec2.run(ClientToken="t")["InstanceId"]
    assert ec2.count() == 1


@pytest.mark.parametrize(
    ("service", "call", "arguments"),
    [
        ("ec2", "describe_vpcs", {}),
        ("iam", "list_roles", {}),
        ("sts", "get_caller_identity", {}),
        ("ssm", "describe_parameters", {}),
    ],
)
def test_errors_are_in_each_protocol(cloud, boto, refused, service, call, arguments):
    cloud.faults.arm(Fault(service=service, code="Broken", message="as ordered"))
    assert refused(getattr(boto(service), call), **arguments) == "Broken"


def test_a_throttle_is_retried_by_botocore(cloud, boto):
    cloud.faults.arm(Fault(service="ec2", operation="DescribeVpcs", code="RequestLimitExceeded", status=503))
    boto("ec2", attempts=2).describe_vpcs()
    assert [call["code"] for call in cloud.record.calls()] == ["RequestLimitExceeded", None]


def test_a_lost_reply_is_repaired_by_the_token(cloud, ec2, boto):
    cloud.faults.arm(Fault(service="ec2", operation="RunInstances", when="after"))
    ec2.client = boto("ec2", attempts=3)
    assert ec2.run()["InstanceId"]
    assert ec2.count() == 1
    assert [c["status"] for c in cloud.record.calls() if c["operation"] == "RunInstances"] == [0, 200]


def test_a_lost_reply_without_retry_is_a_closed_connection(cloud, ec2):
    cloud.faults.arm(Fault(service="ec2", operation="RunInstances", when="after"))
    with pytest.raises(ConnectionClosedError):
        ec2.run()
    assert ec2.count() == 1


def test_an_error_after_the_work(cloud, boto, refused):
    ssm = boto("ssm")
    cloud.faults.arm(
        Fault(service="ssm", operation="PutParameter", when="after", code="InternalServerError", status=500)
    )
    assert refused(ssm.put_parameter, Name="/a", Value="v", Type="String") == "InternalServerError"
    assert ssm.get_parameter(Name="/a")["Parameter"]["Value"] == "v"


def test_a_fault_strikes_only_what_it_names(cloud, ec2, refused):
    fault = {
        "service": "ec2",
        "operation": "RunInstances",
        "code": "InsufficientInstanceCapacity",
        "times": 0,
        "where": {"Placement.AvailabilityZone": "*a"},
    }
    _post(cloud, "faults", [fault])
    in_a = {"Placement": {"AvailabilityZone": "cn-northwest-1a"}}
    in_c = {"Placement": {"AvailabilityZone": "cn-northwest-1c"}}
    assert refused(ec2.run, **in_a) == refused(ec2.run, **in_a) == "InsufficientInstanceCapacity"
    assert ec2.run(**in_c)["InstanceId"]
    assert _post(cloud, "faults", None, "DELETE") == {"faults": []}
    assert ec2.run(**in_a)["InstanceId"]


def test_skip_lets_the_first_calls_pass(cloud, boto, refused):
    cloud.faults.arm(Fault(service="ec2", operation="DescribeVpcs", code="Broken", skip=1))
    ec2 = boto("ec2")
    ec2.describe_vpcs()
    assert refused(ec2.describe_vpcs) == "Broken"
    ec2.describe_vpcs()


def test_a_mistaken_fault_is_refused_by_name(cloud):
    with pytest.raises(urllib.error.HTTPError) as caught:
        _post(cloud, "faults", {"operations": "x"})
    assert "operations" in json.load(caught.value)["error"]


def test_quota_counts_what_runs_in_its_bucket(cloud, ec2, refused, until):
    _post(cloud, "options", {"vcpu_quota": {"G and VT": 4}})
    made = ec2.run()["InstanceId"]
    assert refused(ec2.run) == "VcpuLimitExceeded"
    assert ec2.run(ImageId=ec2.arm_image, InstanceType="c8g.4xlarge"), "another bucket"
    ec2.client.terminate_instances(InstanceIds=[made])
    until(lambda: ec2.state(made) == "terminated")
    assert ec2.run()["InstanceId"]


def test_a_quota_of_zero_refuses_all(cloud, ec2):
    cloud.world.options = cloud.world.options.changed({"vcpu_quota": {"G and VT": 0}})
    with pytest.raises(ClientError, match="current vCPU limit of 0"):
        ec2.run()
