"""Instances that end by themselves, on machines that really boot."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from deployer.agent.protocol import decode_line
from deployer.cli.app import run
from deployer.rehearsal import sandbox
from deployer.rehearsal.sandbox import SandboxInfo
from tests.rehearse.support import ROOT
from tests.support.waiting import until

SPEC = (ROOT / "stacks/g5-27b-mtp.yaml").read_text()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxInfo]:
    """One sandbox for all of them."""
    state = tmp_path_factory.mktemp("sandbox") / "state"
    yield sandbox.start(state, machines="process", parent_pid=os.getpid())
    sandbox.stop(state)


class Person:
    """Types commands, in this process; what is configured can be made fast there."""

    def __init__(self, info: SandboxInfo, folder: Path, capsys: Any) -> None:
        self._folder = folder
        self._capsys = capsys
        self._ec2 = boto3.client("ec2", endpoint_url=info.url)
        self.info = info

    def types(self, *words: str, code: int = 0) -> list[dict[str, Any]]:
        """What a command says, with --json."""
        self._capsys.readouterr()
        found = run([*words, "--json"])
        said = self._capsys.readouterr()
        assert found == code, said
        return [json.loads(line) for line in said.out.splitlines()]

    def brings_up(self, name: str, *changes: tuple[str, str]) -> str:
        """A ready stack of another name, some of its lines changed; the instance."""
        text = SPEC.replace("name: g5-27b-mtp", f"name: {name}")
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = self._folder / f"{name}.yaml"
        path.write_text(text)
        return str(self.types("up", str(path))[-1]["instance_id"])

    def sees(self, instance: str) -> Any:
        """What EC2 shows of it."""
        [group] = self._ec2.describe_instances(InstanceIds=[instance])["Reservations"]
        return group["Instances"][0]

    def awaits_end(self, instance: str) -> Any:
        """What EC2 shows once it is terminated."""
        until(lambda: self.sees(instance)["State"]["Name"] == "terminated", "the end of the instance")
        return self.sees(instance)

    def reads(self, instance: str, phase: str) -> list[dict[str, Any]]:
        """The agent's lines about something."""
        text = self._ec2.get_console_output(InstanceId=instance).get("Output", "")
        return [line for line in map(decode_line, text.splitlines()) if line and line["phase"] == phase]

    def last(self, instance: str, phase: str) -> str | None:
        """The state that it told last of something."""
        lines = self.reads(instance, phase)
        return str(lines[-1]["state"]) if lines else None


@pytest.fixture
def person(running: SandboxInfo, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Person]:
    for name, value in running.env.items():
        monkeypatch.setenv(name, value)
    yield Person(running, tmp_path, capsys)
    run(["down", "--all", "--yes"])


def test_nobody_asks_anything(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deployer.render.agent_config.idle_seconds", lambda _deployment: 4.0)
    made = person.brings_up("idle", ("ttl: 12h", "idle: 30m"))
    until(lambda: person.last(made, "idle") == "progress", "the instance saying when it ends")
    [shown] = person.types("status", "idle")
    assert (shown["idle_seconds"], shown["left_seconds"]) == (1800.0, None)
    assert shown["idle_left_seconds"] <= 2
    ended = person.awaits_end(made)
    assert ended["StateReason"]["Code"] == "Client.InstanceInitiatedShutdown"
    assert "ends now" in person.reads(made, "idle")[-1]["message"]


@pytest.mark.deep
def test_aws_takes_a_spot_instance_back(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deployer.render.agent_config.SPOT_POLL_SECONDS", 0.2)
    made = person.brings_up("spot", ("fallbacks: [g5.2xlarge]", "market: spot"))
    [told] = person.types("sandbox", "interrupt", "spot", "--after", "5s", "--state", str(person.info.state_dir))
    assert told["instances"] == [made]
    until(lambda: person.last(made, "interruption") == "done", "the engine being drained")
    [shown] = person.types("status", "spot")
    assert shown["phase"] == "interrupted"
    agent = shown["details"]["probes"][-1]
    assert (agent["rung"], agent["state"]) == ("agent", "failed")
    assert "interrupted by AWS" in agent["observation"] and "ends at 20" in agent["observation"]
    assert person.awaits_end(made)["StateReason"]["Code"] == "Server.SpotInstanceTermination"
