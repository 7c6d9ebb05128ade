"""The small parts: did-you-mean, scalars, models that an error message must be able to describe."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import pytest

from deployer.spec.models import Ec2Stack, LocalStack
from deployer.spec.scalars import resolve
from deployer.spec.shape import Model, field_leaves
from deployer.spec.suggest import closest
from deployer.spec.values import parse_duration_seconds, parse_network
from deployer.spec.wording import _TYPE_WORDS
from tests.unit.spec.helpers import EC2, REPO, load


@pytest.mark.parametrize(
    ("word", "known", "found"),
    [
        ("tpye", ["type", "ami"], "type"),
        ("cache-type-k", ["cache_type_k", "cache_type_v"], "cache_type_k"),
        ("TTL", ["ttl"], "ttl"),
        ("flash_atention", ["flash_attention"], "flash_attention"),
        ("on", ["off", "auto"], None),
        ("banana", ["type", "ami", "market"], None),
        ("x" * 100_000, ["type"], None),
        ("", ["type"], None),
    ],
)
def test_closest(word: str, known: list[str], found: str | None) -> None:
    assert closest(word, known) == found


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-3", -3),
        ("0", 0),
        ("0x1F", 31),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("", None),
        ("null", None),
        ("Qwen3.6-27B", "Qwen3.6-27B"),
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("9" * 5000, "9" * 5000),
        ("q8_0", "q8_0"),
        ("UD-Q4_K_M", "UD-Q4_K_M"),
        ("a:1", "a:1"),
    ],
)
def test_every_yaml_reader_agrees_on(text: str, value: object) -> None:
    found, surprise = resolve(text)
    assert (found, type(found), surprise) == (value, type(value), None)


@pytest.mark.parametrize(
    "text", ["yes", "No", "ON", "off", "y", "N", "010", "08", "1_000", "1:30", "0b1", "0o7", "2026-1-2"]
)
def test_yaml_readers_disagree_on(text: str) -> None:
    value, surprise = resolve(text)
    assert value == text
    assert surprise is not None
    assert text in surprise


@pytest.mark.parametrize(("text", "seconds"), [("90m", 5400), ("8h", 28800), ("2d", 172800)])
def test_durations(text: str, seconds: int) -> None:
    assert parse_duration_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "8", "h", "8H", "8 h", "-8h", "0h", "8h30m", "٨h", "9999999d", "8h\n"])
def test_no_durations(text: str) -> None:
    with pytest.raises(ValueError, match="no duration"):
        parse_duration_seconds(text)


@pytest.mark.parametrize(
    ("text", "network"),
    [
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("203.0.113.7", "203.0.113.7/32"),
        ("10.1.0.0/255.255.0.0", "10.1.0.0/16"),
        ("2001:db8::/32", "2001:db8::/32"),
    ],
)
def test_networks(text: str, network: str) -> None:
    assert parse_network(text) == network


@pytest.mark.parametrize(
    "text", ["0.0.0.0/0", "::/0", "128.0.0.0/1", "8000::/1", "10.0.0.1/8", "10.0.0/8", "", "x", "1/2/3"]
)
def test_no_networks(text: str) -> None:
    with pytest.raises(ValueError, match=r"network|internet|wider|bits"):
        parse_network(text)


def _leaf_kinds(model: Model) -> set[Any]:
    kinds: set[Any] = set()
    for field in model.model_fields.values():
        for leaf in field_leaves(field):
            if leaf.model:
                kinds |= _leaf_kinds(leaf.model)
            elif not leaf.words and not leaf.form:
                kinds.add(leaf.origin)
    return kinds


@pytest.mark.parametrize("model", [Ec2Stack, LocalStack])
def test_every_kind_of_value_has_a_word(model: Model) -> None:
    assert _leaf_kinds(model) - {type(None)} <= _TYPE_WORDS.keys()


def test_loading_takes_milliseconds() -> None:
    load(EC2)
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        load(EC2 + "engine: {context: 4096, mtp: on}\n")
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.06


def test_no_heavy_import() -> None:
    code = (
        "import sys, deployer.spec.load; "
        "print([m for m in ('boto3','jsonschema','httpx','paramiko','rich','click','jinja2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=REPO, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
