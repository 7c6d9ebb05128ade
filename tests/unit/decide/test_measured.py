"""What was measured stands before the rule, in words only: what is launched stays as it was decided."""

from __future__ import annotations

import pytest

from deployer.decide.decide import decide
from deployer.decide.measured import with_measured
from deployer.decide.types import Deployment
from deployer.engine.tuned import MeasuredChoice, parse_choice, parse_report
from deployer.reconcile.desired import launch_digest
from deployer.render.agent_config import LaunchFacts, agent_config
from deployer.settings import Settings
from deployer.spec.load import load_spec

_SPEC = """\
name: t
target: ec2
instance: {type: c8i.4xlarge}
model: {name: Qwen3.6-27B}
engine: {%s}
"""
ON = MeasuredChoice(drafts=2, threads=16, tok_s=5.36, plain_tok_s=4.56, acceptance=0.8, at=1_796_000_000.0)


def _deployment(tmp_path, engine: str = "mtp: auto") -> Deployment:
    path = tmp_path / "spec.yaml"
    path.write_text(_SPEC % engine)
    settings = Settings.from_env({"DEPLOYER_HOME": str(tmp_path)})
    return decide(load_spec(path, settings), settings)


def test_the_machine_that_measured_goes_on(tmp_path) -> None:
    ruled = _deployment(tmp_path)
    shown = with_measured(ruled, ON, stays=True)
    known = {decision.name: decision for decision in shown.decisions}
    assert (known["mtp"].value, known["mtp"].source) == ("on, n=2", "measured here")
    assert "5.4 tok/s with 2 draft(s), 4.6 without MTP" in known["mtp"].reason
    assert known["threads"].value == 16
    assert ("--spec-draft-n-max", "2") in zip(shown.engine.argv, shown.engine.argv[1:], strict=False)
    assert len(shown.decisions) == len(ruled.decisions)


def test_another_machine_follows_the_rule_and_says_what_was_measured(tmp_path) -> None:
    ruled = _deployment(tmp_path)
    shown = with_measured(ruled, ON, stays=False)
    (mtp,) = [decision for decision in shown.decisions if decision.name == "mtp"]
    assert mtp.value == "off" and "chose MTP n=2, 16 threads (5.4 tok/s, without MTP 4.6)" in mtp.reason
    assert shown.engine == ruled.engine


@pytest.mark.parametrize(
    ("engine", "tune"),
    [
        ("mtp: auto", None),
        ("mtp: auto, tune: on-first-boot", {"first_boot": True}),
        ("mtp: off", {"drafts": [0]}),
        ("mtp: on, threads: 4", {"drafts": [1, 2, 3, 4], "threads": False}),
        ("mtp: {mode: auto, draft_n_max: 3, draft_p_min: 0.5}", {"drafts": [0, 3], "p_min": 0.5}),
    ],
)
def test_what_the_agent_may_change(tmp_path, engine: str, tune: dict | None) -> None:
    facts = LaunchFacts(api_key_parameter=None, generation=1, expires_at=None, ssm_endpoint=None)
    assert agent_config(_deployment(tmp_path, engine), facts).get("tune") == tune


def test_asking_for_a_measurement_is_no_reason_for_another_machine(tmp_path) -> None:
    asked = _deployment(tmp_path, "mtp: auto, tune: on-first-boot")
    assert launch_digest(asked, None) == launch_digest(_deployment(tmp_path), None)
    assert [decision.value for decision in asked.decisions if decision.name == "tune"] == ["on-first-boot"]


@pytest.mark.parametrize(
    "body",
    [{}, {"v": 2, "rows": []}, {"v": 1, "rows": None}, {"v": 1, "rows": [None]}, {"v": 1, "rows": [{"threads": 1}]}],
)
def test_what_is_no_report(body: dict) -> None:
    assert parse_report(body) is None


def test_reports_and_choices_of_a_later_agent_are_read() -> None:
    report = parse_report({"v": 1, "rows": [{"drafts": 0, "threads": 1, "new": 1}], "new": 1, "chosen": {"drafts": 1}})
    assert report is not None and report.rows[0].name == "MTP off, 1 thread" and report.chosen is None
    assert parse_choice("x") is None
