from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deployer.engine.dialect import DEFAULT_BUILD, builds, dialect, parse
from deployer.engine.extra_args import names_used

LANGUAGE = dialect()


def messages(*args: str) -> list[str]:
    return [f"{p.index}: {p.message}" + (f" ({p.hint})" if p.hint else "") for p in parse(args, LANGUAGE)[1]]


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
    _, (problem,) = parse([flag], LANGUAGE)
    assert "removed" in problem.message
    assert replacement in (problem.hint or "")


def test_removed_and_known_do_not_overlap() -> None:
    assert not set(LANGUAGE.removed) & set(LANGUAGE.flags)


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
        (["--spec-type", "mtp"], "1: --spec-type does not take 'mtp'"),
        (["--spec-type", "draft-mtp,ngram"], "1: --spec-type does not take 'ngram'"),
    ],
)
def test_refused(args: list[str], expected: str) -> None:
    assert any(expected in message for message in messages(*args)), messages(*args)


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
