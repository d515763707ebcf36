"""Tools as a model reads them: a signature and a sentence each, in few tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from detent.core.tools.tool import ToolSpec

NESTING_MAX = 4


def tool_text(tool: ToolSpec) -> str:
    """The signature of a tool, and below it what it and its parameters are for.

    >>> spec = ToolSpec(
    ...     "find",
    ...     "Find places.",
    ...     {"properties": {"words": {"type": "string", "description": "what to look for"},
    ...                     "limit": {"type": "integer"}}, "required": ["words"]},
    ... )
    >>> print(tool_text(spec))
    find(words: string, limit?: integer)
      Find places.
      words: what to look for
    """
    parameters: Mapping[str, Any] = tool.parameters
    properties = cast(Mapping[str, Any], parameters.get("properties") or {})
    about = [
        f"{name}: {schema['description']}"
        for name, schema in properties.items()
        if _described(schema)
    ]
    lines = [" ".join(line.split()) for line in [tool.description, *about] if line]
    return "\n  ".join([f"{tool.name}({_fields(parameters, parameters)})", *lines])


def _described(schema: Any) -> bool:
    return isinstance(schema, Mapping) and bool(schema.get("description"))


def _fields(schema: Mapping[str, Any], root: Mapping[str, Any], nesting: int = 0) -> str:
    required = schema.get("required") or ()
    return ", ".join(
        f"{name}{'' if name in required else '?'}: {_type(field_schema, root, nesting + 1)}"
        for name, field_schema in (schema.get("properties") or {}).items()
    )


def _type(schema: Any, root: Mapping[str, Any], nesting: int) -> str:
    """The type that a schema stands for, written as in TypeScript."""
    if not isinstance(schema, Mapping) or nesting > NESTING_MAX:
        return "any"
    if "$ref" in schema:
        return _type(_resolved(str(schema["$ref"]), root), root, nesting + 1)
    if choices := schema.get("enum") or [schema[key] for key in ("const",) if key in schema]:
        return " | ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return " | ".join(dict.fromkeys(_type(option, root, nesting) for option in options))
    kinds = schema.get("type", "any")
    if not isinstance(kinds, str):
        return " | ".join(_type({**schema, "type": kind}, root, nesting) for kind in kinds)
    if kinds == "array":
        item = _type(schema.get("items"), root, nesting + 1)
        return f"({item})[]" if " | " in item else f"{item}[]"
    if kinds == "object" and schema.get("properties"):
        return f"{{{_fields(schema, root, nesting)}}}"
    return kinds


def _resolved(reference: str, root: Mapping[str, Any]) -> Any:
    """What a reference within the schema leads to; None where it leads nowhere."""
    place: Any = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        place = place.get(name) if isinstance(place, Mapping) and step else place
    return place
