"""Arguments: what a model passes to a tool, checked against the tool's schema and turned into its types."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from detent.core.frozen import thaw
from detent.core.messages import ToolCall
from detent.core.state import BaseState
from detent.core.tools import Tool

PLAIN = frozenset({str, int, float, bool, type(None), dict, list, Any, object})
TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}
LIMITS: Mapping[str, tuple[str, str]] = {
    "minimum": (">=", "at least"),
    "maximum": ("<=", "at most"),
    "exclusiveMinimum": (">", "more than"),
    "exclusiveMaximum": ("<", "less than"),
}


def faults(value: object, schema: Mapping[str, Any], where: str = "") -> Iterator[str]:
    """One sentence for each way in which a JSON value does not fit `schema`; none when it fits.

    The keywords of JSON Schema 2020-12 that describe tool arguments are checked; annotations are not.
    """
    named = where or "the arguments"
    if "anyOf" in schema or "oneOf" in schema:
        options = schema.get("anyOf") or schema["oneOf"]
        if not any(not list(faults(value, option, where)) for option in options):
            yield f"{named} must be {_expected(schema)}, got {_shown(value)}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{named} must be {schema['const']!r}, got {_shown(value)}"
    elif "enum" in schema and not any(_same(value, choice) for choice in schema["enum"]):
        yield f"{named} must be {_expected(schema)}, got {_shown(value)}"
    elif "type" in schema and not _is_a(value, schema["type"]):
        yield f"{named} must be {_expected(schema)}, got {_shown(value)}"
    elif isinstance(value, dict):
        yield from _object_faults(value, schema, where)
    elif isinstance(value, list):
        yield from _array_faults(value, schema, named)
    elif isinstance(value, str):
        yield from _string_faults(value, schema, named)
    elif isinstance(value, int | float):
        yield from _number_faults(value, schema, named)


def _object_faults(
    value: dict[str, object], schema: Mapping[str, Any], where: str
) -> Iterator[str]:
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{_path(where, name)} is missing"
    for name, item in value.items():
        path = _path(where, name)
        if name in properties:
            yield from faults(item, properties[name], path)
        elif isinstance(others, dict):
            yield from faults(item, others, path)
        elif not others:
            allowed = ", ".join(properties) or "none"
            yield f"{path} is not a parameter; there is: {allowed}"


def _array_faults(value: list[object], schema: Mapping[str, Any], named: str) -> Iterator[str]:
    prefix = schema.get("prefixItems", ())
    for index, item in enumerate(value):
        rule = prefix[index] if index < len(prefix) else schema.get("items", {})
        if isinstance(rule, dict):
            yield from faults(item, rule, f"{named}[{index}]")
    if len(value) < schema.get("minItems", 0):
        yield f"{named} must have at least {schema['minItems']} items, got {len(value)}"
    if len(value) > schema.get("maxItems", len(value)):
        yield f"{named} must have at most {schema['maxItems']} items, got {len(value)}"
    if schema.get("uniqueItems") and any(item in value[:at] for at, item in enumerate(value)):
        yield f"{named} must not hold an item twice"


def _string_faults(value: str, schema: Mapping[str, Any], named: str) -> Iterator[str]:
    if len(value) < schema.get("minLength", 0):
        yield f"{named} must have at least {schema['minLength']} characters, got {len(value)}"
    if len(value) > schema.get("maxLength", len(value)):
        yield f"{named} must have at most {schema['maxLength']} characters, got {len(value)}"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{named} must match {schema['pattern']}, got {_shown(value)}"


def _number_faults(value: float, schema: Mapping[str, Any], named: str) -> Iterator[str]:
    for keyword, (sign, words) in LIMITS.items():
        if keyword not in schema:
            continue
        bound = schema[keyword]
        held = {">=": value >= bound, "<=": value <= bound, ">": value > bound, "<": value < bound}
        if not held[sign]:
            yield f"{named} must be {words} {bound}, got {value}"


def arguments_for(tool: Tool, call: ToolCall, state: BaseState) -> dict[str, object]:
    """All arguments of the tool's function: the call's, converted to the declared types, and the state's.

    A state key that was never written fills nothing, so that the function's own default holds.
    """
    sent = {
        name: _convert(value, tool.types.get(name, Any)) for name, value in call.arguments.items()
    }
    filled = {
        parameter: state.read(key)
        for key, parameter in tool.inputs_from_state.items()
        if state.holds(key)
    }
    return {**sent, **filled}


def _convert(value: object, declared: Any) -> object:
    if declared in PLAIN:
        return thaw(value)
    from cattrs import structure  # plain types, the usual case, do without it

    return structure(thaw(value), declared)


def _is_a(value: object, declared: str | list[str]) -> bool:
    names = [declared] if isinstance(declared, str) else declared
    if isinstance(value, bool):
        return "boolean" in names
    if isinstance(value, float) and value.is_integer() and "integer" in names:
        return True
    return any(isinstance(value, TYPES.get(name, ())) for name in names)


def _same(value: object, choice: object) -> bool:
    return value == choice and isinstance(value, bool) == isinstance(choice, bool)


def _expected(schema: Mapping[str, Any]) -> str:
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(_expected(option) for option in options)
    if "enum" in schema:
        return "one of " + ", ".join(map(repr, schema["enum"]))
    if "const" in schema:
        return repr(schema["const"])
    declared = schema.get("type", "any value")
    return declared if isinstance(declared, str) else " or ".join(cast(list[str], declared))


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _path(where: str, name: str) -> str:
    return f"{where}.{name}" if where else repr(name)
