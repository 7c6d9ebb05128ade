"""The tuning phase of the agent as it is sent, against engines of known speed."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.unit.agent.box import Box, wait_until
from tests.unit.agent.engines import serving

GAINS = {0: (10.0, 0), 1: (14.0, 80), 2: (16.0, 70), 3: (15.0, 60), 4: (9.0, 50)}
WORTHLESS = {0: (10.0, 0), 1: (7.0, 0), 2: (5.0, 0), 3: (4.0, 0), 4: (3.0, 0)}


@pytest.fixture
def fast(box: Box) -> Box:
    box.config["engine"]["argv"] += ["-t", "2", "-tb", "2"]
    box.config["tune"] = {"threads": False}
    box.config["engine"]["mtp"] = False
    return box


def _state(box: Box, name: str) -> Path:
    return box.root / "var/lib/deployer" / name


def _ask(box: Box, **request: object) -> None:
    _state(box, "tune-request.json").write_text(json.dumps({"v": 1, "id": "x", **request}))


def _drafts(box: Box) -> int:
    """What the engine that runs now was started with."""
    words = Path(f"/proc/{box.engine_pid()}/cmdline").read_bytes().split(b"\0")
    return int(words[words.index(b"--spec-draft-n-max") + 1]) if b"--spec-type" in words else 0


def _ready(box: Box, times: int) -> dict:
    return dict(wait_until(lambda: box.lines("ready", "done")[times - 1 :])[0])


def test_a_gain_is_kept_through_a_restart_and_void_for_another_model(fast: Box) -> None:
    fast.program(serving(speeds=GAINS))
    agent = fast.start()
    _ready(fast, 1)
    assert _drafts(fast) == 0
    _ask(fast)
    ready = _ready(fast, 2)
    report = fast.lines("tuning", "done")[0]["detail"]
    assert [row["drafts"] for row in report["rows"]] == [0, 1, 2, 3, 4]
    assert report["applied"] and report["id"] == "x"
    assert report["rows"][2] == {
        "drafts": 2,
        "threads": 2,
        "median": 16.0,
        "low": 16.0,
        "high": 16.0,
        "acceptance": 0.7,
        "same": True,
        "why": "chosen: +60 % over MTP off",
    }
    assert ready["detail"]["tuned"]["drafts"] == 2
    assert _drafts(fast) == 2
    agent.send_signal(signal.SIGTERM)
    assert agent.wait(10) == 0

    again = fast.start()
    assert _ready(fast, 3)["detail"]["tuned"]["plain_tok_s"] == 10.0
    assert _drafts(fast) == 2
    again.send_signal(signal.SIGTERM)
    again.wait(10)

    fast.weights.write_bytes(b"GGUF" + bytes(2000))
    fast.start()
    assert "tuned" not in _ready(fast, 4)["detail"]
    assert _drafts(fast) == 0
    said = " ".join(line.get("message", "") for line in fast.lines("engine", "progress"))
    assert "does not hold any more: another model than it was measured with" in said


def test_first_boot_switches_a_worthless_head_off_before_it_is_ready(fast: Box) -> None:
    fast.config["engine"]["argv"] += [
        "--spec-type",
        "draft-mtp",
        "--spec-draft-n-max",
        "2",
        "--spec-draft-p-min",
        "0.0",
    ]
    fast.config["tune"]["first_boot"] = True
    fast.program(serving(speeds=WORTHLESS, said={1: "other words"}))
    agent = fast.start()
    assert _ready(fast, 1)["detail"]["tuned"]["drafts"] == 0
    report = fast.said("tuning", "done")["detail"]
    assert report["rows"][1]["why"] == "no draft accepted, -30 %; its text differs from the plain engine's"
    assert report["ended"] == "n=1 had no draft accepted"
    assert _drafts(fast) == 0
    agent.send_signal(signal.SIGTERM)
    agent.wait(10)
    fast.start()
    _ready(fast, 2)
    assert len(fast.lines("tuning", "start")) == 1


def test_a_file_without_a_head_and_a_tuning_that_only_measures(fast: Box) -> None:
    fast.program(serving(speeds=GAINS, no_head=True))
    fast.start()
    _ready(fast, 1)
    _ask(fast, keep=True)
    assert "tuned" not in _ready(fast, 2)["detail"]
    report = fast.lines("tuning", "done")[0]["detail"]
    assert report["rows"][1]["why"].startswith("mtp_missing_in_gguf: ")
    assert (report["applied"], report["chosen"]["drafts"]) == (False, 0)
    assert not _state(fast, "tuned.json").exists()


@pytest.mark.parametrize("first_boot", [False, True])
def test_killed_while_measuring(fast: Box, first_boot: bool) -> None:
    fast.config["tune"]["first_boot"] = first_boot
    fast.program(serving(speeds=GAINS, loading=2))
    agent = fast.start()
    if not first_boot:
        _ready(fast, 1)
        _ask(fast)
    fast.said("tuning", "progress")
    agent.kill()
    agent.wait(10)
    fast.start()
    ready = _ready(fast, 1 if first_boot else 2)
    assert "tuned" not in ready["detail"]
    assert _drafts(fast) == 0
    assert len(fast.lines("tuning", "start")) == 1


def test_cancelled(fast: Box) -> None:
    fast.program(serving(speeds=GAINS, loading=2))
    fast.start()
    _ready(fast, 1)
    _ask(fast)
    fast.said("tuning", "progress")
    _state(fast, "tune-cancel").write_text("")
    assert "tuned" not in _ready(fast, 2)["detail"]
    assert fast.said("tuning", "skipped")["detail"]["ended"] == "cancelled"
