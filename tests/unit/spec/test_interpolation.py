"""`${env:NAME}` in values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deployer.spec.interpolate import InterpolationError, interpolate
from deployer.spec.models import Ec2Stack
from tests.unit.spec.helpers import EC2, load, mistakes

HOSTILE = st.text(
    alphabet=st.one_of(st.sampled_from("${}:-env\\\"'\n#&*!|>%@`"), st.characters(codec="utf-8")), max_size=60
)


def test_inside_text() -> None:
    spec = load("name: demo-${env:WHO}\n" + EC2.split("\n", 1)[1], environ={"WHO": "lin"}).spec
    assert spec.name == "demo-lin"


def test_default_when_unset_but_not_when_empty() -> None:
    assert interpolate("${env:A:-b}", {}) == "b"
    assert interpolate("${env:A:-b}", {"A": ""}) == ""
    assert interpolate("${env:A:-}", {}) == ""
    assert interpolate("${env:A:-x:-y}", {}) == "x:-y"


def test_a_number_stays_a_number() -> None:
    text = EC2 + "endpoint: {port: '${env:PORT}'}\nengine:\n  context: ${env:CONTEXT:-8192}\n"
    assert load(text.replace("'${env:PORT}'", "9000")).spec.engine.context == 8192
    assert mistakes(text, environ={"PORT": "9000"}) == [
        'x.yaml:5:18: endpoint.port: expected a whole number, got "9000" — write it without quotes'
    ]


def test_true_false_and_nothing() -> None:
    text = (
        EC2.replace("{name: Qwen3.6-27B}", "\n  name: Qwen3.6-27B\n  mtp_head: ${env:HEAD}")
        + "lifetime:\n  ttl: ${env:TTL:-}\n"
    )
    spec = load(text, environ={"HEAD": "true"}).spec
    assert isinstance(spec, Ec2Stack)
    assert spec.model.mtp_head is True
    assert spec.lifetime.ttl is None


@pytest.mark.parametrize("value", ["123", "1.10", "true", "no", "010", "2026-11-30", "0x1f"])
def test_text_stays_text_whatever_it_looks_like(value: str) -> None:
    text = EC2 + "tags:\n  a: ${env:VALUE}\n  b: x-${env:VALUE}\n"
    spec = load(text, environ={"VALUE": value}).spec
    assert isinstance(spec, Ec2Stack)
    assert spec.tags == {"a": value, "b": f"x-{value}"}


def test_a_mapping_cannot_come_from_a_variable() -> None:
    assert mistakes(EC2 + "engine: ${env:E}\n", environ={"E": "{context: 4096}"}) == [
        'x.yaml:5:9: engine: expected a mapping (lines of key: value), got "{context: 4096}"'
    ]


def test_line_breaks_from_a_variable_are_refused_where_they_would_matter() -> None:
    said = mistakes(EC2 + "engine:\n  image: ${env:I}\n", environ={"I": "a\nextra_args: [--tools]"})
    assert said == ["x.yaml:6:10: engine.image: control characters (line breaks, tabs …) are not accepted"]


@pytest.mark.parametrize(
    "name",
    ["AWS_SECRET_ACCESS_KEY", "my_password", "HF_TOKEN", "OPENAI_API_KEY", "AWS_ACCESS_KEY_ID", "LLAMA_APIKEY"],
)
def test_secrets_are_refused_by_name_set_or_not(name: str) -> None:
    for environ in ({}, {name: "hunter2"}):
        said = mistakes(EC2 + f"tags:\n  a: ${{env:{name}}}\n", environ=environ)
        assert len(said) == 1
        assert "looks like a secret" in said[0]
        assert "hunter2" not in said[0]


@given(value=HOSTILE)
def test_whatever_a_variable_holds_arrives_unchanged(value: str) -> None:
    assert interpolate("<${env:V}>", {"V": value}) == f"<{value}>"
    assert interpolate("${env:V}${env:V}", {"V": value}) == value + value


@given(text=HOSTILE)
def test_escaping_every_reference_gives_the_text_back(text: str) -> None:
    # `$${` is the escape, so a text that holds `$` before `${` needs no more than the one replacement.
    if "$${" not in text:
        assert interpolate(text.replace("${", "$${"), {}) == text


@given(text=HOSTILE)
def test_any_text_is_interpolated_or_refused(text: str) -> None:
    try:
        interpolate(text, {"env": "x"})
    except InterpolationError:
        assert "${" in text
