"""What came of running a tool: a result for the model and the state, or a fault that says what was wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal, TypeAlias

from attrs import asdict, frozen, has

from detent.core.keys import Write
from detent.core.messages import FileContent, ImageContent, ResultPart, TextContent
from detent.core.tools import Tool

FaultKind: TypeAlias = Literal[
    "unknown_tool", "invalid_arguments", "raised", "timeout", "bad_result", "unmergeable"
]


@frozen
class ToolResult:
    """What a tool gave: content for the model to read, and writes for the state."""

    content: str | tuple[ResultPart, ...]
    writes: tuple[Write, ...] = ()


@frozen
class ToolFault:
    """Why a tool call failed. `message` is for the model to read and act on."""

    kind: FaultKind
    message: str


def result_of(tool: Tool, value: object) -> ToolResult:
    """What `value`, returned by the tool's function, means for the model and for the state.

    A source that the value lacks writes nothing. Exceptions of the tool's own handlers pass through.
    """
    return ToolResult(_content(tool, value), _writes(tool, value))


def text_of(value: object) -> str:
    """A value as a model reads it: a string as it is, all else as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=_encodable)


def _content(tool: Tool, value: object) -> str | tuple[ResultPart, ...]:
    rule = tool.outputs_to_string
    if "source" in rule and isinstance(value, Mapping):
        value = value.get(rule["source"])
    if handler := rule.get("handler"):
        return text_of(handler(value))
    if isinstance(value, TextContent | ImageContent | FileContent):
        return (value,)
    if isinstance(value, list | tuple) and value and all(map(_is_part, value)):
        return tuple(value)
    return text_of(value)


def _writes(tool: Tool, value: object) -> tuple[Write, ...]:
    writes = []
    for key, rule in tool.outputs_to_state.items():
        source = rule.get("source")
        if source is None:
            writes.append(Write(key, value, rule.get("handler")))
        elif isinstance(value, Mapping) and source in value:
            writes.append(Write(key, value[source], rule.get("handler")))
    return tuple(writes)


def _is_part(value: object) -> bool:
    return isinstance(value, TextContent | ImageContent | FileContent)


def _encodable(value: Any) -> object:
    if has(type(value)):
        return asdict(value, recurse=False)
    if hasattr(value, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    return str(value)
