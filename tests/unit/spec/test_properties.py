"""What holds for every text: only SpecError, only positions inside the file, a digest of the meaning alone."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from deployer.errors import SpecError
from tests.unit.spec.helpers import EC2, HERE, STACKS, load

PIECES = st.sampled_from(
    [
        *(
            "name: demo",
            "target: ec2",
            "target: local",
            "instance:",
            "  type: g5.xlarge",
            "model: {name: X}",
            "engine:",
        ),
        *("  context: 4096", "  mtp: on", "- a", "  - b", "\t", "  ", "---", "...", "%YAML 1.2", "&a", "*a", "!!str"),
        *(
            "? x",
            ": y",
            "[",
            "]",
            "{",
            "}",
            ",",
            "'",
            '"',
            "|",
            ">",
            "#",
            "<<: *a",
            "${env:A}",
            "$${",
            "~",
            "\r",
            "\ufeff",
        ),
        *("\x85", "\u2028", "\\", '"\\U99999999"', "yes", "010", "1:30", "endpoint: {expose: x}", "tags: {a: 1}", "é"),
    ]
)
TEXTS = st.one_of(
    st.text(max_size=200),
    st.lists(PIECES, max_size=14).map("\n".join),
    st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=14).map(" ".join),
    st.builds(lambda base, at, junk: base[:at] + junk + base[at:], st.just(EC2), st.integers(0, len(EC2)), PIECES),
)
SEEDS = [path.read_text() for path in [*STACKS, *sorted((HERE / "wrong").glob("*.yaml"))]]
MUTATED = st.builds(
    lambda text, a, b, junk: text[: a % (len(text) + 1)] + junk + text[b % (len(text) + 1) :],
    st.sampled_from(SEEDS),
    st.integers(0, 2000),
    st.integers(0, 2000),
    st.one_of(PIECES, st.text(max_size=5)),
)


def lines_of(text: str) -> list[str]:
    return re.split(r"\r\n|\r|\n", text)


@settings(max_examples=250, deadline=None)
@given(text=st.one_of(TEXTS, MUTATED))
def test_any_text_is_accepted_or_refused_at_a_place_in_it(text: str) -> None:
    try:
        load(text, environ={"A": "x"})
    except SpecError as error:
        lines = lines_of(text)
        for diagnostic in error.diagnostics:
            assert 1 <= diagnostic.line <= len(lines), diagnostic
            assert 1 <= diagnostic.column <= len(lines[diagnostic.line - 1]) + 1, diagnostic
            assert str(diagnostic).splitlines() == [str(diagnostic)]
            assert str(diagnostic).isprintable()


@settings(max_examples=100, deadline=None)
@given(key=st.text(min_size=1, max_size=30), value=st.text(max_size=60))
def test_any_override_is_accepted_or_refused(key: str, value: str) -> None:
    for name in (key, f"engine.{key}", "engine.image", "tags.a"):
        try:
            load(EC2, overrides={name: value})
        except SpecError as error:
            assert all("\n" not in str(d) for d in error.diagnostics)


VALUES: dict[str, Any] = {
    "name": "demo",
    "target": "ec2",
    "instance": {"type": "g5.xlarge", "fallbacks": ["g5.2xlarge"], "root_volume": {"size_gib": 80, "iops": 3000}},
    "model": {"name": "Qwen3.6-27B", "quant": "Q4_K_M"},
    "engine": {"context": 8192, "parallel": 2, "mtp": {"mode": "on", "draft_n_max": 2}},
    "endpoint": {"expose": "private", "port": 18080, "allow": ["10.0.0.0/8"]},
    "tags": {"a": "1", "b": "2", "c": "3"},
}


def write(value: Any, draw: Any, indent: int = 0) -> str:
    """YAML for a value, with keys in any order, block or flow style, any quotes, comments and blank lines."""
    if isinstance(value, dict):
        keys = draw(st.permutations(list(value)))
        if indent and draw(st.booleans()):
            return "{" + ", ".join(f"{key}: {flow(value[key], draw)}" for key in keys) + "}"
        pad = " " * indent
        lines = []
        for key in keys:
            inner = write(value[key], draw, indent + draw(st.integers(1, 4)))
            block = isinstance(value[key], dict) and inner.startswith("\n")
            comment = draw(st.sampled_from(["", "  # why", "\n", "\n# a note"]))
            lines.append(f"{pad}{key}:{inner if block else ' ' + inner}{comment}")
        return ("\n" if indent else "") + "\n".join(lines)
    return flow(value, draw)


def flow(value: Any, draw: Any) -> str:
    match value:
        case dict():
            return (
                "{" + ", ".join(f"{key}: {flow(value[key], draw)}" for key in draw(st.permutations(list(value)))) + "}"
            )
        case list():
            return "[" + ", ".join(flow(item, draw) for item in value) + "]"
        case str():
            quotes = ['"', "'"] if value.isdigit() else ['"', "'", ""]
            quote = draw(st.sampled_from(quotes))
            return f"{quote}{value}{quote}"
        case _:
            return str(value)


@settings(max_examples=75, deadline=None)
@given(data=st.data())
def test_the_digest_is_of_the_meaning(data: st.DataObject) -> None:
    text = write(VALUES, data.draw) + "\n"
    assert load(text).digest == load(json.dumps(VALUES)).digest


# Mistakes that do not hide or repair each other: each takes its own key.
MISTAKES = {
    "name": "name: Not_A_Name\n",
    "region": "region: china\n",
    "instance": "instance: {tpye: g5.xlarge}\n",
    "model": "model: {file: x.gguf}\n",
    "engine": "engine: {context: few}\n",
    "endpoint": "endpoint: {expose: intern}\n",
    "network": "network: {vpc: vpc-1}\n",
    "access": "access: {port: 70000}\n",
    "lifetime": "lifetime: {ttl: soon}\n",
    "tags": "tags: {a: yes}\n",
    "target": "target: ec22\n",
    "mystery": "mystery: 1\n",
}
RIGHT = {
    "name": "name: demo\n",
    "target": "target: ec2\n",
    "instance": "instance: {type: g5.xlarge}\n",
    "model": "model: {name: Qwen3.6-27B}\n",
}


@settings(max_examples=75, deadline=None)
@given(
    wrong=st.lists(st.sampled_from(sorted(MISTAKES)), min_size=5, max_size=12, unique=True),
    order=st.randoms(use_true_random=False),
)
def test_every_one_of_five_and_more_mistakes_is_told(wrong: list[str], order: Any) -> None:
    parts = {**RIGHT, **{key: MISTAKES[key] for key in wrong}}
    keys = list(parts)
    order.shuffle(keys)
    try:
        load("".join(parts[key] for key in keys))
    except SpecError as error:
        lines = {diagnostic.line for diagnostic in error.diagnostics}
        assert lines == {keys.index(key) + 1 for key in wrong}
        assert len(error.diagnostics) == len(wrong)
    else:
        raise AssertionError("accepted")
