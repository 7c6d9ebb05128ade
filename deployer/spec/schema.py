"""The JSON Schema (draft 2020-12) of a stack spec, for editors. Rules between keys are only in `deployer validate`."""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter

from deployer.spec.models import StackSpec

DIALECT = "https://json-schema.org/draft/2020-12/schema"

# `${env:NAME}` may stand in any value; where the value is no text it must be the whole of it.
_ANYWHERE = {"type": "string", "pattern": r"\$\{env:[A-Za-z_][A-Za-z0-9_]*(:-[^{}]*)?\}"}
_WHOLE = {"type": "string", "pattern": r"^\$\{env:[A-Za-z_][A-Za-z0-9_]*(:-[^{}]*)?\}$"}
_ANNOTATIONS = ("title", "description", "default")
# The shape of the rest depends on these; an editor must see the word itself.
_DISCRIMINATORS = {"target", "expose"}


def json_schema() -> dict[str, Any]:
    """The schema, in a fixed order of keys."""
    schema = TypeAdapter[Any](StackSpec).json_schema()
    definitions = {name: _with_references(schema["$defs"][name]) for name in sorted(schema["$defs"])}
    return {
        "$schema": DIALECT,
        "title": "deployer stack spec",
        "description": "What one `deployer up` builds: where it runs, which model, and how the engine is set up.",
        "type": "object",
        "required": ["name", "target", "model"],
        "oneOf": schema["oneOf"],
        "$defs": definitions,
    }


def schema_text() -> str:
    """The schema as it lies in stacks/deployer.schema.json."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def _with_references(definition: dict[str, Any]) -> dict[str, Any]:
    properties = definition.get("properties", {})
    return definition | {
        "properties": {key: value if key in _DISCRIMINATORS else _value(value) for key, value in properties.items()}
    }


def _value(schema: dict[str, Any]) -> dict[str, Any]:
    """`schema`, accepting `${env:…}` too."""
    match schema:
        case {"type": "array", "items": items}:
            return schema | {"items": _value(items)}
        case {"type": "object", "patternProperties": dict(patterns)}:
            return schema | {"patternProperties": {key: _value(inner) for key, inner in patterns.items()}}
        case {"anyOf": alternatives}:
            return _hoisted(schema, _with([_value(a) if a.get("type") == "array" else a for a in alternatives]))
        case {"$ref": _} | {"oneOf": _} | {"type": "object"}:
            return schema
    bare = {key: value for key, value in schema.items() if key not in _ANNOTATIONS}
    widened = _with([bare])
    return schema if widened == [bare] else {k: schema[k] for k in _ANNOTATIONS if k in schema} | {"anyOf": widened}


def _hoisted(schema: dict[str, Any], alternatives: list[dict[str, Any]]) -> dict[str, Any]:
    """With the description of an optional value where editors look for it: beside `anyOf`, not inside."""
    inner = [a["description"] for a in alternatives if "description" in a]
    if "description" in schema or len(inner) != 1:
        return schema | {"anyOf": alternatives}
    bare = [{key: value for key, value in a.items() if key != "description"} for a in alternatives]
    return schema | {"description": inner[0], "anyOf": bare}


def _with(alternatives: list[dict[str, Any]]) -> list[dict[str, Any]]:
    texts = [a for a in alternatives if a.get("type") == "string"]
    if any(not a.keys() & {"pattern", "enum", "const"} for a in texts):
        return alternatives
    return [*alternatives, _ANYWHERE if texts else _WHOLE]
