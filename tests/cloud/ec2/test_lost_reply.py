"""RunInstances works and its reply never comes: the error says what that can mean, and both ways on settle it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

LOST = {"service": "ec2", "operation": "RunInstances", "when": "after", "times": 0}


@pytest.mark.parametrize("way_on", ["up", "down"])
def test_the_error_says_that_an_instance_may_run(operator: Any, refused: Callable[..., Any], way_on: str) -> None:
    operator.fault(**LOST)
    error = refused(operator.up)
    assert error.exit_code == 1
    assert "an instance may be running and billed" in error.hint
    assert "`deployer up` again goes on, `deployer down demo` removes everything" in error.hint
    [one] = operator.instances()
    operator.cloud.faults.clear()
    if way_on == "up":
        assert operator.up().instance_id == one["InstanceId"]
    operator.down()
    assert operator.resources() == []
