"""Short ways to launch and look at instances; a clock and machines that move only when a test says so."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from botocore.exceptions import ClientError

from deployer.rehearsal.cloud import REGION
from deployer.rehearsal.fidelity.images import IMAGES
from deployer.rehearsal.machines.base import MachineLaunch, MachineState

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
    return Ec2(boto("ec2"), *(image_called(AMAZON_LINUX.format(a)) for a in ("x86_64", "arm64")))


def image_called(parameter: str) -> str:
    """The id of the image a public parameter names in the default region."""
    return next(image.id_in(REGION) for image in IMAGES if parameter in image.parameters)


@pytest.fixture
def refused() -> Callable[..., str]:
    """`refused(call, **arguments)` is the AWS error code the call ends with."""

    def call(function: Callable[..., Any], **arguments: Any) -> str:
        with pytest.raises(ClientError) as caught:
            function(**arguments)
        return str(caught.value.response["Error"]["Code"])

    return call


class ManualClock:
    """Stands still until `advance`."""

    def __init__(self) -> None:
        self._seconds = 1_000_000.0

    def now(self) -> float:
        return self._seconds

    def monotonic(self) -> float:
        return self._seconds

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        self._seconds += seconds


@dataclass
class ScriptedMachine:
    launch: MachineLaunch
    may_halt: threading.Event
    state: MachineState = "running"
    text: bytes = b""
    reboots: int = 0

    def console(self) -> bytes:
        return self.text

    def halt(self) -> None:
        self.may_halt.wait(20)
        self.state = "halted"
        self.text += b"reached power off\n"

    def reboot(self) -> None:
        self.reboots += 1


@dataclass
class ScriptedHypervisor:
    """Boots wait for may_boot, halts for may_halt; `broken` makes every boot fail."""

    kind: str = "scripted"
    may_boot: threading.Event = field(default_factory=threading.Event)
    may_halt: threading.Event = field(default_factory=threading.Event)
    broken: bool = False
    machines: list[ScriptedMachine] = field(default_factory=list)
    closed: bool = False
    numbers: itertools.count = field(default_factory=lambda: itertools.count(2))

    def allocate_address(self) -> str:
        return f"127.72.0.{next(self.numbers)}"

    def boot(self, launch: MachineLaunch) -> ScriptedMachine:
        self.may_boot.wait(20)
        if self.broken:
            raise RuntimeError("no room on this host")
        machine = ScriptedMachine(launch, self.may_halt)
        self.machines.append(machine)
        return machine

    def close(self) -> None:
        self.may_boot.set()
        self.may_halt.set()
        self.closed = True


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def hypervisor() -> ScriptedHypervisor:
    return ScriptedHypervisor()
