"""`${env:NAME}` and `${env:NAME:-default}` inside values; `$${` stands for a literal `${`.

Replaced text is never read again: no recursion, and nothing in a variable's value can become YAML structure. A plain
value that is one interpolation and nothing else is read by YAML's rules, so that `port: ${env:PORT}` gives a number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from deployer.spec.findings import Findings, show
from deployer.spec.positions import Node, Path, ScalarNode, map_scalars
from deployer.spec.scalars import resolve

_REFERENCE = re.compile(r"\$\$\{|\$\{(?P<body>[^{}]*)\}|\$\{")
_BODY = re.compile(r"env:(?P<name>[A-Za-z_][A-Za-z0-9_]*)(:-(?P<default>.*))?", re.DOTALL)
_SECRET_NAME = re.compile(r"SECRET|PASSWORD|TOKEN|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIAL", re.IGNORECASE)


class InterpolationError(ValueError):
    """A reference that cannot be replaced; the text is for a person."""


def interpolate(text: str, environ: Mapping[str, str]) -> str:
    """`text` with its references replaced. Raises InterpolationError."""
    return _REFERENCE.sub(lambda match: _replacement(match, environ), text)


def _replacement(match: re.Match[str], environ: Mapping[str, str]) -> str:
    if match.group() == "$${":
        return "${"
    body = match.group("body")
    parsed = _BODY.fullmatch(body) if body is not None else None
    if parsed is None:
        problem = (
            f"`{show(match.group())}` is not understood" if body is not None else "`${` is not closed by the next }"
        )
        raise InterpolationError(f"{problem}; write ${{env:NAME}} or ${{env:NAME:-default}}, or $${{ for a literal ${{")
    name, default = parsed.group("name"), parsed.group("default")
    if _SECRET_NAME.search(name):
        raise InterpolationError(
            f"${{env:{name}}} looks like a secret; a spec ends up in plain text in the account, so secrets have no "
            "place in it — deployer makes the API key itself, and AWS credentials are read from the environment"
        )
    value = environ.get(name, default)
    if value is None:
        raise InterpolationError(
            f"the environment variable {name} is not set; set it, or write ${{env:{name}:-default}}"
        )
    return value


def expand(node: Node, environ: Mapping[str, str], findings: Findings) -> Node:
    """The tree with every scalar interpolated; references that fail go to `findings`."""
    return map_scalars(node, lambda path, scalar: _expand_scalar(scalar, environ, findings, path))


def _expand_scalar(node: ScalarNode, environ: Mapping[str, str], findings: Findings, path: Path) -> ScalarNode:
    if "${" not in node.text:
        return node
    try:
        text = interpolate(node.text, environ)
    except InterpolationError as error:
        findings.add(path, node.at, str(error))
        return node
    whole = _REFERENCE.fullmatch(node.text)
    value = resolve(text)[0] if node.plain and whole and whole.group("body") is not None else text
    return ScalarNode(node.at, text, value, node.plain, interpolated=True)
