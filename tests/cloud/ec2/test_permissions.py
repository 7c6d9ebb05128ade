"""docs/permissions.json allows every AWS call that the product makes."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

from deployer.cli.app import run
from tests.cloud.ec2.support import REGION
from tests.guards.source import product_files, tree_of

_POLICY = Path(__file__).parents[3] / "docs" / "permissions.json"
#: IAM's name of a service where it is not the one that boto3 has.
_PREFIXES = {"service-quotas": "servicequotas"}


def _allowed() -> set[str]:
    statements = json.loads(_POLICY.read_text())["Statement"]
    return {action for statement in statements for action in statement["Action"]}


def test_every_call_of_a_life_is_allowed(operator: Any) -> None:
    operator.up(ttl="8h")
    operator.up(ttl="8h", team="another")
    operator.up(ttl="8h", context=8192)
    operator.target().preflight(operator.deployment())
    for words in (["ls"], ["status", "demo"], ["extend", "demo", "1h"], ["sweep", "--dry-run"], ["doctor"]):
        assert run([*words, "--region", REGION]) == 0, words
    assert run(["down", "demo"]) == 0
    called = {f"{call['service']}:{call['operation']}" for call in operator.cloud.record.calls()}
    assert {"ec2:RunInstances", "iam:CreateRole", "ssm:PutParameter", "pricing:GetProducts"} <= called
    assert called - _allowed() == set()


def test_every_call_that_is_written_down_is_allowed() -> None:
    written = {
        f"{_PREFIXES.get(service, service)}:{operation}"
        for path in product_files()
        for service, operation in _calls(tree_of(path))
    }
    assert len(written) > 30
    assert written - _allowed() == set()


def _calls(tree: ast.AST) -> set[tuple[str, str]]:
    """(service, operation) of each `call` and `pages` whose names are plain texts."""
    return {
        (service, operation)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("call", "pages")
        for service, operation in [_texts(node.args[:2])]
        if service and operation
    }


def _texts(arguments: list[ast.expr]) -> tuple[str, str]:
    texts = [str(one.value) if isinstance(one, ast.Constant) else "" for one in arguments]
    return (texts[0], texts[1]) if len(texts) == 2 else ("", "")
