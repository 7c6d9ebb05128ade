"""Every shipped stack goes up and down for real, with no account and no internet."""

from __future__ import annotations

import subprocess

import pytest

from tests.rehearse.support import ROOT, TIMEOUT_SECONDS, events_of, program

STACKS = sorted(path.stem for path in (ROOT / "stacks").glob("*.yaml"))
WITH_MTP = {stack for stack in STACKS if "mtp" in stack} | {"local-tiny"}
PHASES = ["sandbox", "plan", "up", "completion", "second up", "status", "down", "leak check"]


def test_there_are_six() -> None:
    assert len(STACKS) == 6


#: One on EC2 with MTP, one on this machine; the other stacks are for the deep tests.
ALWAYS = {"g5-27b-mtp", "local-tiny"}


@pytest.mark.parametrize(
    "stack", [stack if stack in ALWAYS else pytest.param(stack, marks=pytest.mark.deep) for stack in STACKS]
)
def test_it_rehearses(stack: str) -> None:
    done = subprocess.run(
        program("rehearse", f"stacks/{stack}.yaml", "--json", "--machines", "process"),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    events = events_of(done.stdout)
    summary = events[-1]
    assert done.returncode == 0, f"{done.stderr}\n{summary}"
    assert done.stderr == ""
    assert summary["event"] == "rehearsal.summary" and summary["stack"] == stack
    assert summary["ok"] is True
    assert summary["completion"].strip()
    assert summary["second_up_changes"] == 0
    assert summary["leaks"] == []
    assert [phase["name"] for phase in summary["phases"]] == PHASES
    assert summary["substitutions"]
    if stack in WITH_MTP:
        assert 0 < summary["draft_n_accepted"] <= summary["draft_n"]
    else:
        assert not {"draft_n", "draft_n_accepted"} & summary.keys()
        for event in events:
            assert not (event["event"] == "completion" and event.get("draft_n")), event
    if stack == "local-tiny":
        assert summary["aws_calls"] == 0
    else:
        assert summary["aws_calls"] > 20
        kinds = {event["kind"] for event in events if event["event"] == "step.done"}
        assert {"stack-record", "api-key", "security-group", "key-pair", "role", "instance-profile"} < kinds
    agent = {event["phase"] for event in events if event["event"] == "phase" and event["state"] == "done"}
    assert {"boot", "runtime", "weights", "engine", "ready"} <= agent
