"""Ctrl-C finishes the call in flight; a denied action leaves nothing that `down` cannot take."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cloud.ec2.support import HastyClock

ROOT = Path(__file__).resolve().parents[3]


def test_ctrl_c_finishes_the_call_in_flight_and_says_what_exists(operator: Any, until: Callable[..., Any]) -> None:
    operator.fault(service="ec2", operation="RunInstances", delay_seconds=1.5)
    script = (
        "import os; from tests.cloud.ec2 import crashing; crashing._victim(dict(os.environ), 'up', None, 'after', {})"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, **operator.settings.environ},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        until(lambda: operator.cloud.faults.listing()[0]["struck"], seconds=30)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130
    [one] = operator.instances()
    assert "interrupted" in said
    assert operator.target().list_stacks()[0].stack == "demo"
    result = operator.up()
    assert result.instance_id == one["InstanceId"]
    operator.down()
    assert operator.resources() == []


@pytest.mark.parametrize("operation", ["PutParameter", "CreateSecurityGroup", "AddRoleToInstanceProfile"])
def test_a_denied_action_is_named_and_down_takes_the_rest(
    operator: Any, refused: Callable[..., Any], operation: str
) -> None:
    operator.clock = HastyClock()
    operator.fault(operation=operation, code="AccessDenied", status=403, skip=1 if operation == "PutParameter" else 0)
    error = refused(operator.up)
    assert error.exit_code == 3
    assert operation in error.message
    assert operator.instances() == []
    operator.down()
    assert operator.resources() == []
