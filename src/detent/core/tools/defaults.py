"""Defaults: what a tool takes for the arguments that a call leaves out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from detent.core.chat.messages import ToolCall
from detent.core.tools.tool import Tool
from detent.core.values.frozen import thaw


def with_defaults(call: ToolCall, tool: Tool) -> dict[str, Any]:
    """The arguments of a call, however deep, with what stands for those that it leaves out.

    The function's own default comes before what the schema says: it is what will be used. One
    without a form in JSON is shown as the name of its type.
    """
    schema = tool.spec.parameters
    whole = cast("dict[str, Any]", _filled(thaw(call.arguments), schema, schema))
    own = tool.defaults.items()
    return whole | {name: value for name, value in own if name not in call.arguments}


def _filled(value: Any, schema: Any, root: Mapping[str, Any]) -> Any:
    match schema, value:
        case {"$ref": str(name)}, _:
            from detent.core.schema.validation import resolved  # loaded with what refers

            return _filled(value, resolved(name, root), root)
        case {"anyOf": [*kinds]} | {"oneOf": [*kinds]}, dict() | list():
            # which one of several is meant is not known here: then nothing is filled in
            fits = [one for one in kinds if {"$ref", "properties", "items"} & one.keys()]
            return _filled(value, fits[0], root) if len(fits) == 1 else value
        case {"properties": Mapping() as parts}, dict():
            left = {n: thaw(p["default"]) for n, p in parts.items() if "default" in p}
            rest = schema.get("additionalProperties")
            return left | {n: _filled(item, parts.get(n, rest), root) for n, item in value.items()}
        case {"additionalProperties": part}, dict():
            return {n: _filled(item, part, root) for n, item in value.items()}
        case {"items": part}, list():
            return [_filled(item, part, root) for item in value]
        case _:
            return value
