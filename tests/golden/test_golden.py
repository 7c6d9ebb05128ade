"""Spec -> plan, argv, user-data, as data. After a wanted change: `python -m tests.golden.update`."""

from __future__ import annotations

import gzip

import pytest

from deployer.render.user_data import LIMIT_BYTES, render_user_data
from deployer.spec.models import Ec2Stack
from tests.golden.cases import FOLDER, NAMES, STACKS, decided, facts, produce


@pytest.mark.parametrize("name", NAMES)
def test_case(name: str) -> None:
    produced = produce(name)
    kept = {
        path.name: path.read_text(encoding="utf-8") for path in (FOLDER / name).iterdir() if path.name != "spec.yaml"
    }
    assert produced == kept, "after a wanted change: python -m tests.golden.update"


@pytest.mark.parametrize("name", NAMES)
def test_what_is_sent_is_small_and_the_same_every_time(name: str) -> None:
    deployment = decided(FOLDER / name / "spec.yaml")
    if not isinstance(deployment.spec, Ec2Stack):
        pytest.skip("a local stack sends nothing")
    first, second = (render_user_data(deployment, facts(deployment)) for _ in range(2))
    assert first == second
    assert gzip.decompress(first.gzipped).decode() == first.text
    assert len(first.gzipped) <= LIMIT_BYTES


def test_every_ready_stack_is_a_case() -> None:
    for stack in STACKS.glob("*.yaml"):
        assert (FOLDER / stack.stem / "spec.yaml").read_text() == stack.read_text(), "python -m tests.golden.update"
