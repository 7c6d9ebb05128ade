"""An operator of the EC2 target against the embedded AWS without machines: everything but the health ladder."""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3

from deployer.aws.session import Aws, connect
from deployer.clock import Clock, SystemClock
from deployer.decide.decide import decide
from deployer.decide.types import Deployment
from deployer.events import Event
from deployer.rehearsal.cloud import ACCESS_KEY, REGION, SECRET_KEY, Cloud
from deployer.rehearsal.fidelity.faults import Fault
from deployer.settings import Settings
from deployer.spec.load import parse_spec
from deployer.targets.ec2 import Ec2Target

SPEC = """
name: {name}
target: ec2
region: cn-northwest-1
instance:
  type: {instance_type}
  fallbacks: [{fallbacks}]
  market: {market}
model:
  name: Qwen3.6-27B
  quant: Q4_K_M
engine:
  runtime: process
  context: {context}
endpoint:
  expose: tunnel
  port: 18080
lifetime:
  ttl: {ttl}
  idle: {idle}
tags:
  team: {team}
"""

_session = boto3.Session(aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY)

DEFAULTS: dict[str, Any] = {
    "name": "demo",
    "instance_type": "g5.xlarge",
    "fallbacks": "g5.2xlarge",
    "market": "on-demand",
    "context": 4096,
    "ttl": "8h",
    "idle": "",
    "team": "research",
}


def environment(url: str, home: Path) -> dict[str, str]:
    """The ordinary configuration that points boto3 and deployer at an embedded AWS."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_REGION": REGION,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "DEPLOYER_HOME": str(home),
        "DEPLOYER_MY_CIDR": "203.0.113.7/32",
        "NO_PROXY": "127.0.0.1,localhost",
    }


def deployment_of(settings: Settings, extra: str = "", **values: Any) -> Deployment:
    """A decided stack; `extra` is more YAML at the top level."""
    text = SPEC.format(**{**DEFAULTS, **values}) + extra
    return decide(parse_spec(text, "demo.yaml", environ={}, overrides={}), settings)


class HastyClock:
    """Real time, but of every sleep only a twentieth is slept; the clock shows it all."""

    def __init__(self) -> None:
        self._skipped = 0.0

    def now(self) -> float:
        return time.time() + self._skipped

    def monotonic(self) -> float:
        return time.monotonic() + self._skipped

    def sleep(self, seconds: float) -> None:
        threading.Event().wait(seconds / 20)
        self._skipped += seconds * 19 / 20


class LeapingClock(HastyClock):
    """As on a machine that was suspended at every sleep: five times as long passes, and next to nothing is slept."""

    def sleep(self, seconds: float) -> None:
        threading.Event().wait(seconds / 100)
        self._skipped += seconds * 5


@dataclass
class Operator:
    """One person at one machine. healthy: what the health ladder would find."""

    cloud: Cloud
    settings: Settings
    events: list[Event] = field(default_factory=list)
    healthy: bool = True
    seen: list[str] = field(default_factory=list)
    aws: Aws | None = None
    clock: Clock = field(default_factory=SystemClock)

    def target(self, **more: Any) -> Ec2Target:
        """A target that remembers nothing of the stack; only the connection is shared, to save time."""
        made = Ec2Target(self.settings, REGION, self.clock, self.events.append, verify=self._verify, **more)
        self.aws = self.aws or connect(REGION, self.settings, clock=HastyClock())
        made._connected = self.aws
        return made

    def up(self, extra: str = "", **values: Any) -> Any:
        """Decide and bring up."""
        return self.target().up(self.deployment(extra, **values))

    def down(self, stack: str = "demo") -> Any:
        """Take down by name."""
        return self.target().down(stack)

    def deployment(self, extra: str = "", **values: Any) -> Deployment:
        """A decided stack."""
        return deployment_of(self.settings, extra, **values)

    def parsed(self, values: dict[str, Any]) -> Deployment:
        """A decided stack from a spec as plain values."""
        return decide(parse_spec(json.dumps(values), "demo.yaml", environ={}, overrides={}), self.settings)

    def fault(self, **fields: Any) -> None:
        """Arm one fault of the embedded AWS."""
        self.cloud.faults.arm(Fault.of(fields))

    def named(self, name: str) -> list[dict[str, Any]]:
        """The fields of every event of that name."""
        return [dict(event.fields) for event in self.events if event.name == name]

    def actions(self) -> dict[str, str]:
        """kind -> action of the steps that were run."""
        return {str(step["kind"]): str(step["action"]) for step in self.named("step.done")}

    def resources(self) -> list[Any]:
        """Everything that exists in the account."""
        return list(self.cloud.status()["resources"])

    def instances(self) -> list[Any]:
        """Instances that are not terminated, as boto3 shows them."""
        client = _session.client("ec2", region_name=REGION, endpoint_url=self.cloud.url)
        pages = client.get_paginator("describe_instances").paginate()
        found = [one for page in pages for group in page["Reservations"] for one in group["Instances"]]
        return [one for one in found if one["State"]["Name"] not in ("terminated", "shutting-down")]

    def _verify(self, _op: Any, _deployment: Deployment, instance_id: str) -> None:
        from deployer.errors import NotHealthyError

        self.seen.append(instance_id)
        if not self.healthy:
            raise NotHealthyError("the engine does not answer", where="health")
