"""`deployer tune` of a stack on EC2: through SSH, on the agent, back over the console."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.access_cli.conftest import started
from tests.access_cli.support import SPEC, STACK, Box
from tests.rehearse.support import Sandbox

pytestmark = pytest.mark.crash

_SPEC = """\
name: {name}
target: ec2
instance: {{type: {type}}}
model: {{source: "modelscope://rehearsal/{model}-MTP-GGUF", file: {model}-mtp.gguf, mtp_head: true, alias: tiny}}
engine: {{context: 4096, mtp: auto, tune: {tune}}}
"""


def _last(out: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(out.splitlines()[-1])
    return found


def _tuned(box: Box) -> Any:
    return _last(box.run("status", box.stack, "--json").out)["details"]["tuned"]


def test_measured_only(box: Box) -> None:
    before = _tuned(box)
    ran = box.run("tune", STACK, "--dry-run", "--json")
    assert ran.code == 0, ran.err
    report = _last(ran.out)
    # A GPU: the threads are no question.
    assert [row["drafts"] for row in report["rows"]][:2] == [0, 1]
    assert report["rows"][1]["acceptance"] > 0.5 and report["rows"][1]["same"] is True
    assert all(row["why"] for row in report["rows"])
    assert report["chosen"] and not report["applied"]
    states = {(line["phase"], line["state"]) for line in map(json.loads, ran.out.splitlines()) if "phase" in line}
    assert {("tuning", "start"), ("tuning", "progress"), ("tuning", "done"), ("ready", "done")} <= states
    assert _tuned(box) == before
    assert _last(box.run("up", SPEC, "--json").out)["changes"] == 0


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with started(tmp_path_factory.mktemp("tune") / "state") as running:
        yield running


def _spec(folder: Path, **values: str) -> str:
    path = folder / f"{values['name']}.yaml"
    path.write_text(_SPEC.format(**values))
    return str(path)


def test_a_gpu_whose_head_is_worthless_ends_with_mtp_off(lab: Sandbox, tmp_path: Path) -> None:
    """The rule says on; nobody asks; the first boot finds out."""
    box = Box(lab, "worthless")
    spec = _spec(tmp_path, name="worthless", type="g5.xlarge", model="accept0", tune="on-first-boot")
    up = box.run("up", spec, "--json")
    assert up.code == 0, up.err
    off, one = next(line for line in map(json.loads, up.out.splitlines()) if line["event"] == "tuned")["rows"]
    assert (off["drafts"], one["drafts"]) == (0, 1)
    assert one["acceptance"] < 0.5 and one["median"] < off["median"]
    decisions = [json.loads(line) for line in up.out.splitlines() if b'"decision"' in line]
    mtp = [line for line in decisions if line["name"] == "mtp"]
    assert [line["value"].partition(",")[0] for line in mtp] == ["on", "off"]
    assert mtp[1]["source"] == "measured here"
    assert _tuned(box)["drafts"] == 0
    again = box.run("plan", spec, "--json")
    plan = _last(again.out)
    (shown,) = [one for one in plan["decisions"] if one["name"] == "mtp"]
    assert (shown["value"], shown["source"]) == ("off", "measured here")
    assert {step["action"] for step in plan["steps"]} == {"keep"}
    assert _last(box.run("up", spec, "--json").out)["changes"] == 0
    assert box.run("down", "worthless").code == 0


def test_a_good_head_is_kept_only_where_it_is_faster_and_void_on_another_machine(lab: Sandbox, tmp_path: Path) -> None:
    box = Box(lab, "good")
    values = {"name": "good", "model": "accept90", "tune": "off"}
    assert box.run("up", _spec(tmp_path, type="c8i.4xlarge", **values)).code == 0
    ran = box.run("tune", "good", "--json")
    assert ran.code == 0, ran.err
    report = _last(ran.out)
    drafting = [row for row in report["rows"] if row["drafts"]]
    assert drafting[0]["acceptance"] > 0.8
    fastest = {
        on: max((row["median"] for row in report["rows"] if bool(row["drafts"]) is on), default=0)
        for on in (False, True)
    }
    assert (report["chosen"]["drafts"] > 0) == (fastest[True] > fastest[False] * 1.05)
    assert report["applied"]

    moved = box.run("up", _spec(tmp_path, type="c8i.8xlarge", **values), "--json")
    assert moved.code == 0, moved.err
    warned = [json.loads(line)["message"] for line in moved.out.splitlines() if b'"warning"' in line]
    assert any("does not count here" in text for text in warned)
    assert _tuned(box) is None
    assert box.run("down", "good").code == 0
