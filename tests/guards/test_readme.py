"""The README names everything there is, and both languages show the same commands."""

from __future__ import annotations

import re

import pytest

from deployer.cli.app import COMMANDS
from deployer.errors import EXIT_CODES
from deployer.spec import models, network
from tests.guards.source import ROOT

READMES = ("README.md", "README.zh-CN.md")
_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", READMES)
def test_it_names_every_command_exit_code_key_and_stack(name: str) -> None:
    text = _text(name)
    assert [c for c in COMMANDS if not re.search(rf"`[^`]*\b{c}\b[^`]*`", text)] == []
    assert [code for code in EXIT_CODES if f"| {code} |" not in text] == []
    fields = {f for model in (models.Ec2Stack, models.LocalStack, models.EngineSpec) for f in model.model_fields}
    fields |= {f for model in (models.ModelSpec, models.InstanceSpec, network.AccessSpec) for f in model.model_fields}
    assert [field for field in sorted(fields) if f"`{field}`" not in text] == []
    assert [p.stem for p in (ROOT / "stacks").glob("*.yaml") if f"`{p.stem}`" not in text] == []


def test_both_languages_show_the_same() -> None:
    english, chinese = map(_text, READMES)
    assert _BLOCK.findall(english) == _BLOCK.findall(chinese)
    headings = [len(re.findall(r"^#+ ", text, re.MULTILINE)) for text in (english, chinese)]
    rows = [len(re.findall(r"^\|", text, re.MULTILINE)) for text in (english, chinese)]
    assert headings[0] == headings[1] and rows[0] == rows[1]


@pytest.mark.parametrize("name", READMES)
def test_what_it_links_to_exists(name: str) -> None:
    links = re.findall(r"\]\(([^)]+)\)", _text(name))
    assert [link for link in links if not link.startswith("http") and not (ROOT / link).exists()] == []
