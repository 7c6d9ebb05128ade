from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deployer.engine.mtp import choose_mtp
from deployer.spec.models import MtpSpec
from tests.unit.engine.helpers import machine

AUTO = MtpSpec()
ON = MtpSpec(mode="on")


@pytest.mark.parametrize(
    ("instance", "head", "mode", "enabled"),
    [
        ("g5.xlarge", True, "auto", True),
        ("g6e.xlarge", True, "auto", True),
        ("g5.xlarge", True, "off", False),
        ("g5.xlarge", False, "auto", False),
        ("g5.xlarge", None, "auto", False),
        ("g5.xlarge", None, "on", True),
        ("c8g.4xlarge", True, "auto", False),
        ("c8i.4xlarge", True, "auto", False),
        ("c8i.4xlarge", True, "on", True),
        ("c8g.4xlarge", None, "off", False),
    ],
)
def test_rule(instance: str, head: bool | None, mode: str, enabled: bool) -> None:
    verdict = choose_mtp(MtpSpec(mode=mode), machine(instance), head, "Qwen3.6-27B")  # type: ignore[arg-type]
    assert verdict.choice.enabled is enabled
    assert not verdict.refused
    assert verdict.reason
    assert verdict.source
    assert verdict.unverified is (head is None and enabled)


def test_defaults_are_explicit() -> None:
    choice = choose_mtp(AUTO, machine("g5.xlarge"), True, None).choice
    assert (choice.draft_n_max, choice.draft_p_min) == (2, 0.0)


def test_the_users_numbers_win() -> None:
    choice = choose_mtp(MtpSpec(draft_n_max=3, draft_p_min=0.6), machine("g5.xlarge"), True, None).choice
    assert (choice.draft_n_max, choice.draft_p_min) == (3, 0.6)


def test_on_without_a_head_is_refused() -> None:
    verdict = choose_mtp(ON, machine("g5.xlarge"), False, None)
    assert verdict.refused
    assert not verdict.choice.enabled


def test_the_one_exception_is_told_but_stays_off() -> None:
    verdict = choose_mtp(AUTO, machine("c8i.4xlarge"), True, "Qwen3.6-27B")
    assert not verdict.choice.enabled
    assert "exception" in verdict.reason
    assert "exception" not in choose_mtp(AUTO, machine("c8i.4xlarge"), True, "Qwen3.6-35B-A3B").reason
    assert "exception" not in choose_mtp(AUTO, machine("c8g.4xlarge"), True, "Qwen3.6-27B").reason
    assert "one CPU pair" in choose_mtp(ON, machine("c8i.4xlarge"), True, "Qwen3.6-27B").reason
    assert "against the rule" in choose_mtp(ON, machine("c8g.4xlarge"), True, "Qwen3.6-27B").reason


@given(
    st.sampled_from(["auto", "on", "off"]),
    st.sampled_from([True, False, None]),
    st.sampled_from(["g5.xlarge", "c8g.4xlarge", "c8i.4xlarge"]),
)
def test_off_is_never_half_on(mode: str, head: bool | None, instance: str) -> None:
    verdict = choose_mtp(MtpSpec(mode=mode, draft_n_max=4), machine(instance), head, None)  # type: ignore[arg-type]
    assert verdict.choice.draft_n_max == (4 if verdict.choice.enabled else 0)
    assert not (verdict.choice.enabled and head is False)
    assert not (verdict.choice.enabled and mode == "off")
