"""The timer rang: the instance ends, unless its stack's record names a later end by now."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deployer.agent.lifetime import end_or_go_on
from deployer.render.program import FIRST_STAGE, PACKAGE, make
from deployer.render.units import units
from tests.unit.agent.servers import Metadata

RECORD = "/deployer/stacks/t"
FOLDER = "etc/systemd/system"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A box whose timer rang, with a systemctl that writes down what it was told."""
    made = tmp_path / "root"
    (made / FOLDER).mkdir(parents=True)
    (made / FOLDER / "deployer-ttl.timer").write_text(units("t", time.time() - 1)["deployer-ttl.timer"])
    (made / "bin").mkdir()
    program = made / "bin/systemctl"
    program.write_text(f'#!/bin/sh\necho "$@" >> {made}/said\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{made}/bin:/usr/bin:/bin")
    return made


@pytest.fixture
def ring(root: Path, metadata: Metadata, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Ring with this record in SSM."""
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.url)
    monkeypatch.setenv("AWS_ENDPOINT_URL", metadata.url)

    def act(value: str | None) -> int:
        metadata.parameters = {} if value is None else {RECORD: value}
        config: dict[str, Any] = {"record": RECORD, "region": "cn-northwest-1", "ssm_endpoint": metadata.url}
        return end_or_go_on(str(root), config, pause=0.0)

    return act


def said(root: Path) -> list[str]:
    return (root / "said").read_text().splitlines()


def test_a_later_end_sets_the_timer_anew(root: Path, ring: Callable[..., int]) -> None:
    before = (root / FOLDER / "deployer-ttl.timer").read_text()
    assert ring(json.dumps({"expires_at": 1_893_456_000.0})) == 0
    after = (root / FOLDER / "deployer-ttl.timer").read_text()
    assert "OnCalendar=2030-01-01 00:00:00 UTC" in after
    assert [line for line in after.splitlines() if not line.startswith("OnCalendar")] == [
        line for line in before.splitlines() if not line.startswith("OnCalendar")
    ]
    assert said(root) == ["daemon-reload", "restart --no-block deployer-ttl.timer"]


@pytest.mark.parametrize(
    "value", [json.dumps({"expires_at": 1_600_000_000.0}), json.dumps({"expires_at": None}), "no JSON", "{}", None]
)
def test_no_later_end_powers_off(root: Path, ring: Callable[..., int], value: str | None) -> None:
    assert ring(value) == 1
    assert said(root) == ["poweroff"]


def test_a_refusal_is_asked_again_and_then_powers_off(root: Path, ring: Callable[..., int], metadata: Metadata) -> None:
    metadata.problem, metadata.problem_times = "AccessDeniedException", 5
    assert ring(json.dumps({"expires_at": 1_893_456_000.0})) == 0
    metadata.problem, metadata.problem_times = "AccessDeniedException", 100
    assert ring(json.dumps({"expires_at": 1_893_456_000.0})) == 1
    assert said(root)[-1] == "poweroff"


def test_a_timer_that_cannot_be_set_powers_off(root: Path, ring: Callable[..., int]) -> None:
    (root / FOLDER / "deployer-ttl.timer").unlink()
    assert ring(json.dumps({"expires_at": 1_893_456_000.0})) == 1
    assert said(root) == ["poweroff"]


def test_the_units_command_is_what_user_data_carries(root: Path, tmp_path: Path, metadata: Metadata) -> None:
    library = tmp_path / "lib" / PACKAGE
    library.mkdir(parents=True)
    (library / "__main__.py").write_text(make(FIRST_STAGE))
    metadata.parameters = {RECORD: json.dumps({"expires_at": 1_893_456_000.0})}
    config = {"record": RECORD, "region": "cn-northwest-1", "ssm_endpoint": metadata.url}
    (root / "agent.json").write_text(json.dumps(config))
    environ = {
        "PATH": f"{root}/bin:/usr/bin:/bin",
        "PYTHONPATH": str(library.parent),
        "DEPLOYER_AGENT_ROOT": str(root),
        "AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.url,
        "AWS_ENDPOINT_URL": metadata.url,
    }
    [command] = [line for line in units("t", 1.0)["deployer-ttl.service"].splitlines() if line.startswith("ExecStart=")]
    words = command.removeprefix("ExecStart=").split()
    assert words[:4] == ["/usr/bin/python3", "-m", PACKAGE, "--lifetime"]
    words = [sys.executable, *words[1:-1], f"{root}/agent.json"]
    done = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "2030-01-01" in (root / FOLDER / "deployer-ttl.timer").read_text()
