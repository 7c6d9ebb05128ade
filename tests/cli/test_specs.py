"""init, validate, render, schema and the offline plan: everything that needs no AWS."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.cli.support import ROOT

STACKS = sorted(path.stem for path in (ROOT / "stacks").glob("*.yaml"))


def test_init_writes_a_valid_spec_and_its_schema(deployer) -> None:
    ran = deployer("init", "my-first")
    assert ran.code == 0
    assert ran.out == "wrote my-first.yaml\nwrote deployer.schema.json\n"
    text = (deployer.directory / "my-first.yaml").read_text()
    assert "\nname: my-first\n" in text
    assert text.startswith("# yaml-language-server: $schema=./deployer.schema.json\n")
    schema = json.loads((deployer.directory / "deployer.schema.json").read_text())
    assert schema == deployer("schema", "--json").document == json.loads(deployer("schema").out)
    assert deployer("validate", "my-first.yaml").out == "my-first.yaml: ok\n"


@pytest.mark.parametrize("stack", STACKS)
def test_init_from_every_shipped_stack(stack, deployer) -> None:
    ran = deployer("init", "sub/folder/copy.yaml", "--from", stack, "--json")
    assert ran.code == 0
    assert ran.document["files"] == ["sub/folder/copy.yaml", "sub/folder/deployer.schema.json"]
    assert deployer("validate", "sub/folder/copy.yaml", "--json").document["ok"] is True


def test_init_overwrites_only_when_told(deployer) -> None:
    deployer.write("mine.yaml", "my own text\n")
    ran = deployer("init", "mine")
    assert ran.code == 2 and "mine.yaml is there already" in ran.err and "--force" in ran.err
    assert (deployer.directory / "mine.yaml").read_text() == "my own text\n"
    assert deployer("init", "mine", "--force").code == 0
    assert "name: mine" in (deployer.directory / "mine.yaml").read_text()


@pytest.mark.parametrize("name", ["Upper", "has space", "under_score", "-x", "a" * 33])
def test_init_refuses_what_cannot_be_a_name(name, deployer) -> None:
    ran = deployer("init", "--", name)
    assert ran.code == 2 and "cannot be a stack's name" in ran.err
    assert list(deployer.directory.iterdir()) == []


def test_init_lists_what_to_start_from(deployer) -> None:
    assert list(deployer("init", "--list", "--json").document["stacks"]) == STACKS
    ran = deployer("init", "x", "--from", "nothing")
    assert ran.code == 2 and ", ".join(STACKS) in ran.err


def test_plan_offline_keeps_its_contract(deployer, shipped, aws_that_counts) -> None:
    plan = deployer("plan", shipped, "--offline", "--json").document
    assert {
        "stack",
        "region",
        "target",
        "decisions",
        "hardware",
        "engine",
        "memory",
        "user_data_bytes",
        "steps",
    } <= set(plan)
    assert all(set(d) >= {"name", "value", "reason", "source"} for d in plan["decisions"])
    assert plan["engine"]["build"] == "cuda"
    assert plan["engine"]["mtp"] == {"enabled": True, "draft_n_max": 2}
    memory = plan["memory"]
    assert memory["fits"] and sum(memory["parts"].values()) == memory["need_bytes"] <= memory["have_bytes"]
    assert 0 < plan["user_data_bytes"] <= 16_384 - 128
    assert {step["action"] for step in plan["steps"]} == {"create"}
    assert [step["kind"] for step in plan["steps"]][-1] == "instance"
    assert aws_that_counts.connections == []


def test_plan_offline_as_text(deployer, shipped) -> None:
    ran = deployer("plan", shipped, "--offline")
    assert ran.code == 0
    for part in ("g5-27b-mtp on g5.xlarge in cn-northwest-1", "Decisions", "Memory", "fits", "Engine", "Steps"):
        assert part in ran.out
    assert "\x1b" not in ran.out


def test_plan_that_does_not_fit_is_printed_and_refused(deployer, shipped) -> None:
    ran = deployer(
        "plan", shipped, "--offline", "--json", "--set", "engine.context=262144", "--set", "engine.parallel=8"
    )
    assert ran.code == 3
    assert ran.document["memory"]["fits"] is False
    assert ran.error["code"] == "refused" and ran.error["hint"]


def test_offline_loads_no_aws_library(shipped) -> None:
    code = (
        "import sys\n"
        "from deployer.cli.app import run\n"
        f"run(['plan', {shipped!r}, '--offline', '--json'])\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('boto3', 'botocore', 'paramiko', 'httpx', 'moto')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_flags_go_over_the_spec(deployer, shipped) -> None:
    plan = deployer(
        "plan", shipped, "--offline", "--json", "--region", "cn-north-1", "--set", "engine.context=8192"
    ).document
    assert plan["region"] == "cn-north-1"
    argv = plan["engine"]["argv"]
    assert argv[argv.index("-c") + 1] == "8192"


def test_render_writes_what_would_be_sent(deployer, shipped) -> None:
    ran = deployer("render", shipped, "--out", "out", "--json")
    assert ran.code == 0
    written = ran.document["files"]
    assert written and all((deployer.directory / name).is_file() for name in written)
    assert any(name.endswith("user-data.yaml") for name in written)
    again = deployer("render", shipped, "--out", "again", "--json").document["files"]
    assert [(deployer.directory / n).read_bytes() for n in written] == [
        (deployer.directory / n).read_bytes() for n in again
    ]


def test_the_schema_beside_the_shipped_stacks_is_this_one(deployer) -> None:
    beside = json.loads((ROOT / "stacks/deployer.schema.json").read_text(encoding="utf-8"))
    assert beside == deployer("schema", "--json").document
