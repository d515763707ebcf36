"""The grammar that holds a reply to its form: calls that fit the tools' schemas, or an answer.

Source: https://github.com/guidance-ai/llguidance/blob/main/docs/json_schema.md, the library that
llama.cpp is built with for this.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from detent.core.tools.tool import ToolSpec

Schema: TypeAlias = Mapping[str, Any]

CALLS_MAX = 4

# White space as json.dumps writes it: a reply that is written again later gives the same tokens, so
# that the model does not have to read it again. Keywords that are not known are passed over.
OPTIONS = {
    "whitespace_flexible": False,
    "item_separator": ", ",
    "key_separator": ": ",
    "lenient": True,
}
# Not all of these can be put into a grammar, and one that cannot makes it all fall. Arguments are
# checked against the whole schema before a tool is run.
LEFT_OUT = frozenset(
    {"$schema", "$id", "default", "description", "examples", "not", "pattern", "patternProperties"}
    | {"propertyNames", "title"}
)
NAMED = frozenset({"$defs", "definitions", "dependentSchemas", "properties"})
LITERAL = frozenset({"const", "enum", "required", "type"})
COMPOSED = frozenset({"$ref", "additionalProperties", "allOf", "anyOf", "oneOf"})


def reply_grammar(tools: Sequence[ToolSpec], answer: ToolSpec | None, *, calls_max: int = 1) -> str:
    """The grammar of replies that are up to `calls_max` calls of `tools`, or a call of `answer`."""
    calls = [_call(tool, number) for number, tool in enumerate(tools)]
    kinds = (["calls"] if calls else []) + (["answer"] if answer else [])
    lines = ["%llguidance {}", f"start: {' | '.join(kinds)}"]
    if calls:
        more = f' ("\\n" call){{0,{calls_max - 1}}}' if calls_max > 1 else ""
        lines.append(f"calls: call{more}")
        lines.append(f"call: {_json({'anyOf': calls})}")
    if answer:
        lines.append(f"answer: {_json(_call(answer, len(calls)))}")
    return "\n".join(lines)


def schema_grammar(schema: Schema) -> str:
    """The grammar of JSON values that fit `schema`."""
    return f"%llguidance {{}}\nstart: {_json(_plain(schema))}"


def _json(schema: Schema) -> str:
    return "%json " + json.dumps({"x-guidance": OPTIONS, **schema})


def _call(tool: ToolSpec, number: int) -> Schema:
    arguments = _plain(tool.parameters)
    if "properties" in arguments and not COMPOSED & arguments.keys():
        arguments["additionalProperties"] = False
    # With an id of its own, the references in a schema lead to places in it.
    arguments["$id"] = f"tool:///{number}"
    return {
        "type": "object",
        "properties": {"name": {"const": tool.name}, "arguments": arguments},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def _plain(schema: Any) -> Any:
    """`schema` without what is left out, and without references to other documents."""
    if isinstance(schema, list):
        return [_plain(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    if not str(schema.get("$ref", "#")).startswith("#"):
        return {}
    return {key: _plain_value(key, value) for key, value in schema.items() if key not in LEFT_OUT}


def _plain_value(key: str, value: Any) -> Any:
    if key in LITERAL:
        return value
    if key in NAMED and isinstance(value, Mapping):
        return {name: _plain(schema) for name, schema in value.items()}
    return _plain(value)
