"""The agent's program in SSM: stored before the launch, kept while an instance needs it, never left behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from deployer.reconcile import desired as desires
from deployer.render.program import Program, part_names, program

PATH = "/deployer/agents/demo"


def stored(boto: Callable[..., Any]) -> dict[str, str]:
    found = boto("ssm").get_parameters_by_path(Path=PATH, Recursive=True)["Parameters"]
    return {one["Name"]: one["Value"] for one in found}


@pytest.fixture
def next_version(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Program]:
    """From then on the product brings another agent."""

    def turn() -> Program:
        other = Program("f" * 64, ("another",))
        made = desires.build
        monkeypatch.setattr(desires, "build", lambda *a, **k: replace(made(*a, **k), program=other))
        return other

    return turn


def test_a_damaged_and_a_missing_part_are_stored_again(operator: Any, boto: Callable[..., Any]) -> None:
    operator.up()
    wanted = part_names(PATH, program())
    assert stored(boto) == wanted
    first, second, *_ = wanted
    boto("ssm").put_parameter(Name=first, Value="x", Type="String", Overwrite=True)
    boto("ssm").delete_parameter(Name=second)
    operator.events.clear()
    assert operator.up().changes == 1
    assert operator.actions() == {"agent-program": "update"}
    assert stored(boto) == wanted


def test_an_older_agent_is_kept_for_as_long_as_its_instance(
    operator: Any, boto: Callable[..., Any], next_version: Callable[[], Program]
) -> None:
    operator.up()
    old = stored(boto)
    other = next_version()
    assert operator.up().changes == 0
    assert stored(boto) == old
    operator.healthy = False
    with pytest.raises(Exception, match="does not answer"):
        operator.up(context=8192)
    assert stored(boto) == old | part_names(PATH, other)
    operator.healthy = True
    operator.up(context=8192)
    assert stored(boto) == part_names(PATH, other)
    done = operator.down()
    assert f"agent-program {PATH}/{other.mark}" in done.deleted
    assert operator.resources() == []


def test_what_is_not_ours_is_left_alone(operator: Any, boto: Callable[..., Any], refused: Callable[..., Any]) -> None:
    name = next(iter(part_names(PATH, program())))
    boto("ssm").put_parameter(Name=name, Value="x", Type="String")
    assert refused(operator.up).exit_code == 3
    operator.down()
    assert stored(boto) == {name: "x"}
    boto("ssm").delete_parameter(Name=name)
