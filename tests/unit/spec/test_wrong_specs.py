"""Wrong specs as data: `wrong/<case>.yaml` and, beside it, exactly what a person reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from deployer.errors import SpecError
from tests.unit.spec.helpers import HERE, load

CASES = sorted((HERE / "wrong").glob("*.yaml"))
ENVIRON = {"NUMBER": "12", "WORD": "many"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_says_exactly(case: Path) -> None:
    with pytest.raises(SpecError) as raised:
        load(case.read_text(), environ=ENVIRON, file=case.name)
    said = f"{raised.value}\n" + (f"hint: {raised.value.hint}\n" if raised.value.hint else "")
    assert said == case.with_suffix(".txt").read_text()
    assert raised.value.exit_code == 2


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_errors_are_in_file_order_and_told_once(case: Path) -> None:
    with pytest.raises(SpecError) as raised:
        load(case.read_text(), environ=ENVIRON, file=case.name)
    places = [(d.line, d.column) for d in raised.value.diagnostics]
    assert places == sorted(places)
    assert len(set(map(str, raised.value.diagnostics))) == len(raised.value.diagnostics)


def test_every_case_has_its_expectation() -> None:
    expectations = {path.stem for path in (HERE / "wrong").glob("*.txt")}
    assert expectations == {path.stem for path in CASES}


def test_the_json_form_carries_every_mistake() -> None:
    with pytest.raises(SpecError) as raised:
        load((HERE / "wrong" / "five-mistakes.yaml").read_text())
    error = raised.value.as_dict()["error"]
    assert isinstance(error, dict)
    assert error["code"] == "spec"
    assert error["where"] == "stacks/x.yaml:2:7"
    assert len(error["diagnostics"]) >= 5
    assert error["diagnostics"][1] == {
        "file": "stacks/x.yaml",
        "line": 5,
        "column": 3,
        "path": "instance.tpye",
        "message": 'unknown key — did you mean "type"?',
    }
