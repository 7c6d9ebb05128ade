"""Hostile text goes in, and exactly that text comes out of the parser of the language it was rendered into."""

from __future__ import annotations

import re
import subprocess

import jinja2
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from deployer.rehearsal.machines.units import expand, parse_unit
from deployer.render import environment, quoting

HOSTILE = [
    "", " ", "no", "1e3", "~", "null", "- a", "a: b #c", "{{ 7*7 }}", "{% raw %}", "$(reboot)", "`id`", "'\"\\",
    "${HOME}%n%%$$", "a\nb: c\n", "\ttab\t", "é模型\U0001f600", "\x85\u2028\x7f\x1b[0m", "'; rm -rf / #", "x" * 10_000,
]  # fmt: skip
TEXT = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(HOSTILE)
NO_NUL = TEXT.map(lambda text: text.replace("\0", ""))
PRINTABLE = NO_NUL.map(lambda text: re.sub(r"[\x00-\x1f\x7f]", "", text))


def yaml_load(text: str) -> object:
    return YAML(typ="safe", pure=True).load(text)


@settings(deadline=None)
@given(TEXT, TEXT)
def test_yaml_scalar(value: str, key: str) -> None:
    key = key[:100]  # YAML allows no longer ones on one line
    text = f"- {quoting.yaml_scalar(value)}\n- {{{quoting.yaml_scalar(key)}: {quoting.yaml_scalar(value)}}}\n"
    assert text.isascii()
    assert yaml_load(text) == [value, {key: value}]


@pytest.mark.parametrize("value", [True, False, 3, 1.5])
def test_yaml_scalar_of_other_types(value: bool | float) -> None:
    assert yaml_load(quoting.yaml_scalar(value)) == value


@settings(deadline=None)
@given(st.lists(TEXT).map("\n".join) | st.lists(PRINTABLE, min_size=1).map(lambda lines: "\n".join(lines) + "\n"))
@example("a\n")
@example("a\n\n b\n")
@example(" a\n")
@example("a\n\n")
@example("a\tb\n")
@example("a \n")
def test_yaml_block(value: str) -> None:
    assert yaml_load(f"- path: x\n  content: {quoting.yaml_block(value, 2)}\n  last: 1\n") == [
        {"path": "x", "content": value, "last": 1}
    ]


def test_yaml_block_is_readable_where_it_can_be() -> None:
    assert quoting.yaml_block("[Unit]\nA=b\n", 2) == "|\n   [Unit]\n   A=b"


@settings(max_examples=60, deadline=None)
@given(st.lists(NO_NUL, min_size=1, max_size=5))
def test_shell_quote(values: list[str]) -> None:
    words = " ".join(map(quoting.shell_quote, values))
    answer = subprocess.run(["sh", "-c", f"printf '%s\\0' {words}"], capture_output=True, check=True)
    assert answer.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1] == values


@settings(deadline=None)
@given(st.lists(NO_NUL, min_size=1, max_size=5))
def test_systemd_quote(values: list[str]) -> None:
    line = " ".join(["/bin/x", *map(quoting.systemd_quote, values)])
    assert "\n" not in line
    unit = parse_unit("t.service", f"[Service]\nExecStart={line}\n")
    assert list(expand(unit.command, {"HOME": "/root", "n": "no"})) == ["/bin/x", *values]


@settings(deadline=None)
@given(PRINTABLE)
def test_systemd_text(value: str) -> None:
    if value.endswith("\\"):
        with pytest.raises(ValueError, match="unit file"):
            quoting.systemd_text(value)
    else:
        text = quoting.systemd_text(value)
        assert text.replace("%%", "") == value.replace("%", "")
        assert text.replace("%%", "%") == value


def dockerfile_words(text: str) -> str:
    """What Docker's builder makes of a double-quoted value: `\\` before `\\`, `"` and `$` is taken away.

    Dockerfile reference, "Environment replacement" and "escape": in double quotes a backslash escapes these three, a
    bare `$` would begin a variable, and a line ends at its line break.
    """
    assert text[0] == text[-1] == '"' and "\n" not in text
    inner, out, at = text[1:-1], "", 0
    while at < len(inner):
        if inner[at] == "\\" and inner[at + 1 : at + 2] in ("\\", '"', "$"):
            at += 1
        else:
            assert inner[at] not in '"$'
        out += inner[at]
        at += 1
    return out


@settings(deadline=None)
@given(PRINTABLE)
def test_dockerfile_quote(value: str) -> None:
    assert dockerfile_words(quoting.dockerfile_quote(value)) == value


@pytest.mark.parametrize("quote", [quoting.systemd_text, quoting.dockerfile_quote])
@pytest.mark.parametrize("value", ["a\nb", "a\rb", "\x00", "\x1b"])
def test_what_a_language_cannot_hold_is_refused(quote: object, value: str) -> None:
    assert callable(quote)
    with pytest.raises(ValueError, match="cannot stand"):
        quote(value)


@pytest.mark.parametrize("quote", [quoting.shell_quote, quoting.systemd_quote])
def test_no_argument_holds_a_nul(quote: object) -> None:
    assert callable(quote)
    with pytest.raises(ValueError, match="NUL"):
        quote("a\0b")


def test_a_name_nobody_gave_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError, match="stack"):
        environment.render_template("systemd/deployer-ttl.service.j2")
