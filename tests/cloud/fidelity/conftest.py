"""Short ways to launch and look at instances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from botocore.exceptions import ClientError

AMAZON_LINUX = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-{}"


@dataclass
class Ec2:
    """A client and what tests do with it again and again."""

    client: Any
    image: str
    arm_image: str

    def run(self, **changes: Any) -> dict[str, Any]:
        """Launch one instance; returns its record from the reply."""
        return self.reservation(**changes)["Instances"][0]

    def reservation(self, **changes: Any) -> dict[str, Any]:
        """Launch; returns the whole reply."""
        request = {"ImageId": self.image, "InstanceType": "g5.xlarge", "MinCount": 1, "MaxCount": 1} | changes
        return self.client.run_instances(**request)

    def show(self, instance_id: str) -> dict[str, Any]:
        """One instance as it is described now."""
        return self.client.describe_instances(InstanceIds=[instance_id])["Reservations"][0]["Instances"][0]

    def state(self, instance_id: str) -> str:
        """Its state's name."""
        return self.show(instance_id)["State"]["Name"]

    def count(self) -> int:
        """How many instances exist, whatever their state."""
        return sum(len(r["Instances"]) for r in self.client.describe_instances()["Reservations"])


@pytest.fixture
def ec2(boto: Callable[..., Any]) -> Ec2:
    ssm = boto("ssm")
    found = {a: ssm.get_parameter(Name=AMAZON_LINUX.format(a))["Parameter"]["Value"] for a in ("x86_64", "arm64")}
    return Ec2(boto("ec2"), found["x86_64"], found["arm64"])


@pytest.fixture
def refused() -> Callable[..., str]:
    """`refused(call, **arguments)` is the AWS error code the call ends with."""

    def call(function: Callable[..., Any], **arguments: Any) -> str:
        with pytest.raises(ClientError) as caught:
            function(**arguments)
        return str(caught.value.response["Error"]["Code"])

    return call
