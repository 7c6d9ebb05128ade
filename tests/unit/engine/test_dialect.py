from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deployer.engine.dialect import DEFAULT_BUILD, builds, dialect, parse
from deployer.engine.extra_args import FORBIDDEN, OWNED, check_extra_args, names_used

LANGUAGE = dialect()


def messages(*args: str, mtp: bool = False) -> list[str]:
    return [
        f"{p.index}: {p.message}" + (f" ({p.hint})" if p.hint else "")
        for p in check_extra_args(args, LANGUAGE, mtp=mtp)
    ]


def test_the_default_is_there() -> None:
    assert DEFAULT_BUILD in builds()
    assert LANGUAGE.number == 11549
    assert len(LANGUAGE.flags) > 350
    with pytest.raises(KeyError):
        dialect("b1")


@pytest.mark.parametrize(
    ("flag", "takes"),
    [("-c", 1), ("--metrics", 0), ("-fa", 1), ("--no-ui", 0), ("--control-vector-layer-range", 2), ("--spec-type", 1)],
)
def test_arity(flag: str, takes: int) -> None:
    assert LANGUAGE.flags[flag].takes == takes


@pytest.mark.parametrize(
    ("flag", "replacement"),
    [
        ("--mmap", "--load-mode"),
        ("--no-mmap", "--load-mode"),
        ("--mlock", "--load-mode"),
        ("--direct-io", "--load-mode"),
        ("--draft", "--spec-draft-n-max"),
        ("--draft-n", "--spec-draft-n-max"),
        ("--draft-max", "--spec-draft-n-max"),
        ("--draft-min", "--spec-draft-n-min"),
        ("--draft-n-min", "--spec-draft-n-min"),
    ],
)
def test_removed_flags_name_their_replacement(flag: str, replacement: str) -> None:
    assert flag not in LANGUAGE.flags
    (problem,) = check_extra_args([flag], LANGUAGE)
    assert "removed" in problem.message
    assert replacement in (problem.hint or "")


def test_removed_and_known_do_not_overlap() -> None:
    assert not set(LANGUAGE.removed) & set(LANGUAGE.flags)


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["--temp", "0.7", "--seed", "-1"],
        ["--load-mode", "mlock"],
        ["--numa", "distribute"],
        ["--jinja"],
        ["--cache-ram", "0"],
        ["--cache_ram", "0"],
        ["-tb", "16"],
        ["--override-kv", "a.b=int:1"],
        ["--control-vector-layer-range", "1", "2"],
        ["-sm", "tensor"],
    ],
)
def test_accepted(args: list[str]) -> None:
    assert messages(*args) == []


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--tempp", "1"], "does not know --tempp — did you mean"),
        (["--temp"], "0: --temp needs a value"),
        (["--load-mode", "fast"], "1: --load-mode does not take 'fast'"),
        (["--temp 0.7"], "write the flag and its value as two entries"),
        (["--temp=0.7"], "write the flag and its value as two entries"),
        (["0.7"], "'0.7' is a value without a flag"),
        (["--jinja", "on"], "1: 'on' is a value without a flag"),
        (["-c", "4096"], "-c is set by deployer (set engine.context instead)"),
        (["--port", "8080"], "set endpoint.port instead"),
        (["--spec-type", "none"], "set engine.mtp instead"),
        (["--spec-type", "mtp"], "1: --spec-type does not take 'mtp'"),
        (["--api-key", "x"], "--api-key is not accepted"),
        (["-ag"], "-ag is not accepted"),
        (["--tools", "all"], "run commands on the instance"),
        (["-hf", "a/b"], "set model.source"),
        (["--sleep-idle-seconds", "60"], "CVE-2026-43631"),
    ],
)
def test_refused(args: list[str], expected: str) -> None:
    assert any(expected in message for message in messages(*args)), messages(*args)


def test_tensor_split_breaks_mtp() -> None:
    assert messages("-sm", "tensor", mtp=True)
    assert not messages("-sm", "layer", mtp=True)


def test_every_problem_is_told_in_order() -> None:
    found = check_extra_args(["--mmap", "--port", "1", "--nope"], LANGUAGE)
    assert [problem.index for problem in found] == [0, 1, 3]


@pytest.mark.parametrize("name", [*OWNED, *FORBIDDEN])
def test_the_tables_name_real_flags(name: str) -> None:
    assert name in LANGUAGE.flags


def test_names_used() -> None:
    assert {"-cram", "--cache-ram"} <= names_used(["--cache-ram", "1"], LANGUAGE)
    assert "--ui" in names_used(["--no-webui"], LANGUAGE)


@given(st.lists(st.text(max_size=12), max_size=8))
def test_any_words_are_used_or_refused(args: list[str]) -> None:
    uses, problems = parse(args, LANGUAGE)
    covered = {index for use in uses for index in range(use.index, use.index + 1 + len(use.values))}
    assert covered | {problem.index for problem in problems} == set(range(len(args)))


@given(st.lists(st.sampled_from(sorted(LANGUAGE.flags)), max_size=8))
def test_known_flags_parse_back(names: list[str]) -> None:
    args: list[str] = []
    for name in names:
        flag = LANGUAGE.flags[name]
        args += [name, *((flag.values or ("1",))[:1] * flag.takes)]
    uses, problems = parse(args, LANGUAGE)
    assert [use.name for use in uses] == names
    assert problems == []
