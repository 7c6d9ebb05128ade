"""`deployer key rotate`: the old key stops, the new one works, at every point it can be cut off."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.access_cli.support import SPEC, STACK, Box

_NAME = f"/deployer/keys/{STACK}"


def _ssm(box: Box) -> Any:
    env = box.sandbox.env
    return boto3.client(
        "ssm",
        region_name=env["AWS_REGION"],
        endpoint_url=env["AWS_ENDPOINT_URL"],
        aws_access_key_id=env["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=env["AWS_SECRET_ACCESS_KEY"],
    )


def _key(box: Box) -> str:
    return str(_ssm(box).get_parameter(Name=_NAME, WithDecryption=True)["Parameter"]["Value"])


def _answers(box: Box) -> bool:
    return box.run("chat", STACK, "Hi", "--max-tokens", "4").code == 0


def test_the_new_key_works_and_neither_is_shown(box: Box) -> None:
    old = _key(box)
    ran = box.run("key", "rotate", STACK)
    new = _key(box)
    assert ran.code == 0, ran.err
    assert new != old and new.startswith("sk-")
    assert b"was away for" in ran.out and _answers(box)
    logs = (box.root / "dev/console").read_bytes() + box.engine_log.read_bytes()
    for key in (old.encode(), new.encode()):
        assert key not in ran.out + ran.err + logs
    assert json.loads(box.run("up", SPEC, "--json").out.splitlines()[-1])["changes"] == 0
    assert _ssm(box).get_parameter(Name=_NAME)["Parameter"]["Type"] == "SecureString"
    tags = {
        tag["Key"] for tag in _ssm(box).list_tags_for_resource(ResourceType="Parameter", ResourceId=_NAME)["TagList"]
    }
    assert "deployer:stack" in tags


@pytest.mark.deep
def test_cut_off_between_ssm_and_the_engine(box: Box) -> None:
    _ssm(box).put_parameter(Name=_NAME, Value="sk-not-in-the-engine-yet", Type="SecureString", Overwrite=True)
    for ran, code in ((box.run("chat", STACK, "Hi"), 3), (box.run("up", SPEC), 6)):
        assert ran.code == code and b"deployer key rotate" in ran.err
    assert box.run("key", "rotate", STACK).code == 0
    assert _answers(box)


@pytest.mark.deep
def test_from_another_machine(box: Box, tmp_path: Path) -> None:
    before = _key(box)
    there = {"DEPLOYER_HOME": str(tmp_path / "home")}
    ran = box.run("key", "rotate", STACK, "--json", **there)
    assert ran.code == 3 and "copy that file" in ran.error["hint"]
    assert _key(box) == before, "nothing is changed before the way to the engine is open"
    shutil.copytree(Path(box.sandbox.env["DEPLOYER_HOME"]) / "keys", tmp_path / "home" / "keys")
    assert box.run("key", "rotate", STACK, **there).code == 0
    assert _key(box) != before and _answers(box)
