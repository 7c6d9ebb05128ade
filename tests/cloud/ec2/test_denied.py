"""A permission that is taken away later: what costs money still goes, and what stays is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deployer.errors import TeardownIncomplete

ALWAYS = {"code": "AccessDeniedException", "status": 400, "times": 0}


def test_down_ends_the_instance_though_no_parameter_may_be_deleted(operator: Any, refused: Callable[..., Any]) -> None:
    operator.up()
    operator.fault(service="ssm", operation="DeleteParameter", **ALWAYS)
    error = refused(operator.down)
    assert isinstance(error, TeardownIncomplete)
    assert "ssm:DeleteParameter" in f"{error.message} {error.hint}"
    assert operator.instances() == []
    operator.cloud.faults.clear()
    operator.down()
    assert operator.resources() == []


def test_up_is_up_though_its_lease_cannot_be_given_back(operator: Any) -> None:
    operator.fault(service="ssm", operation="DeleteParameter", **ALWAYS)
    operator.up()
    assert any("could not be deleted" in str(warning["message"]) for warning in operator.named("warning"))
    operator.cloud.faults.clear()
    operator.down()
    assert operator.resources() == []
