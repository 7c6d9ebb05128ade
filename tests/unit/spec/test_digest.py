"""The digest: what changes it and what does not."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.unit.spec.helpers import EC2, LOCAL, REPO, load

BASE = load(EC2).digest


def test_sixteen_hex_digits() -> None:
    assert len(BASE) == 16
    assert int(BASE, 16) >= 0


@pytest.mark.parametrize(
    "text",
    [
        "# comment\n" + EC2,
        EC2 + "region: cn-northwest-1\n",
        EC2 + "engine: {mtp: auto, context: 32768}\n",
        EC2 + "engine: {mtp: {mode: auto}}\n",
        EC2 + "endpoint: {expose: tunnel}\n",
        EC2 + "endpoint: {port: 18080}\n",
        EC2 + "network: {}\n",
        EC2.replace("demo", '"demo"'),
        EC2.replace("demo", "${env:NAME:-demo}"),
    ],
)
def test_same_meaning(text: str) -> None:
    assert load(text).digest == BASE


@pytest.mark.parametrize(
    "text",
    [
        EC2.replace("demo", "demo2"),
        EC2 + "region: cn-north-1\n",
        EC2 + "engine: {mtp: on}\n",
        EC2 + "tags: {a: b}\n",
    ],
)
def test_other_meaning(text: str) -> None:
    assert load(text).digest != BASE


def test_overrides_are_part_of_the_meaning() -> None:
    assert load(EC2, overrides={"engine.context": "4096"}).digest == load(EC2 + "engine: {context: 4096}\n").digest


def test_it_does_not_depend_on_where_the_spec_or_the_home_lies() -> None:
    here = load(LOCAL, file="/a/x.yaml", environ={"HOME": "/home/a"})
    there = load(LOCAL, file="/b/x.yaml", environ={"HOME": "/home/b"})
    assert here.spec.model.source != there.spec.model.source
    assert here.digest == there.digest


def test_another_process_with_another_hash_seed_agrees() -> None:
    code = "import sys; from deployer.spec.load import parse_spec as p; print(p(sys.argv[1], 'x', environ={}).digest)"
    command = [sys.executable, "-c", code, EC2]
    other = subprocess.run(command, cwd=REPO, env={"PYTHONHASHSEED": "7"}, capture_output=True, text=True, check=True)
    assert other.stdout.strip() == BASE
