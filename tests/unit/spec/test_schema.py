"""The JSON Schema for editors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from deployer.spec.schema import json_schema, schema_text
from tests.unit.spec.helpers import EC2, HERE, LOCAL, REPO, STACKS

SCHEMA = json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def valid(text: str) -> bool:
    return bool(VALIDATOR.is_valid(YAML(typ="safe", pure=True).load(text)))


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_the_file_beside_the_stacks_is_current() -> None:
    assert (REPO / "stacks" / "deployer.schema.json").read_text() == schema_text()


@pytest.mark.parametrize("path", STACKS, ids=lambda path: path.stem)
def test_ready_stacks_validate_and_point_to_it(path: Path) -> None:
    text = path.read_text()
    assert valid(text)
    assert text.startswith("# yaml-language-server: $schema=./deployer.schema.json\n")


def test_every_key_explains_itself() -> None:
    silent = [
        f"{name}.{key}"
        for name, definition in SCHEMA["$defs"].items()
        for key, value in definition.get("properties", {}).items()
        if not _described(value)
    ]
    assert silent == []


def _described(value: dict[str, Any]) -> bool:
    target = SCHEMA["$defs"][value["$ref"].rsplit("/", 1)[1]] if "$ref" in value else {}
    return bool(value.get("description") or target.get("description"))


@pytest.mark.parametrize(
    "rest",
    [
        "engine: {context: '${env:CONTEXT}', threads: '${env:T:-auto}', mtp: '${env:MTP:-on}', build: '${env:B}'}\n",
        "endpoint: {port: '${env:PORT:-18080}'}\n",
        "endpoint: {port: 9000}\n",
        "lifetime: {ttl: '${env:TTL}'}\n",
        "tags: {owner: '${env:USER}'}\n",
        "instance: {type: '${env:TYPE}', fallbacks: ['${env:OTHER}']}\n",
        "engine: {mtp: {mode: on, draft_n_max: 2}}\n",
    ],
)
def test_accepts(rest: str) -> None:
    base = EC2 if not rest.startswith("instance") else EC2.replace("instance: {type: g5.xlarge}\n", "")
    assert valid(base + rest)


@pytest.mark.parametrize(
    "text",
    [
        EC2 + "engine: {contxt: 1}\n",
        EC2 + "engine: {context: 'few'}\n",
        EC2 + "engine: {context: 'x${env:CONTEXT}'}\n",
        EC2 + "engine: {mtp: maybe}\n",
        EC2 + "endpoint: {expose: tunnel, allow: [10.0.0.0/8]}\n",
        EC2 + "endpoint: {expose: private}\n",
        EC2.replace("ec2", "ec3"),
        LOCAL + "region: cn-north-1\n",
        "name: demo\n",
    ],
)
def test_refuses(text: str) -> None:
    assert not valid(text)


def test_it_agrees_with_the_checks_on_the_five_mistakes() -> None:
    assert not valid((HERE / "wrong" / "five-mistakes.yaml").read_text())


def test_nothing_in_it_depends_on_the_machine() -> None:
    assert schema_text() == json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
