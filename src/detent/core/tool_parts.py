"""The parts of a tool: what each must be, said when the tool is made."""

from __future__ import annotations

import re
from math import inf
from typing import TYPE_CHECKING, cast

from detent.core.errors import ToolDefinitionError

if TYPE_CHECKING:
    from detent.core.tools import Tool


def require_parts(tool: Tool) -> None:
    """Raise ToolDefinitionError unless name, texts, schema and limits are what a tool has."""
    texts: tuple[object, ...] = (tool.name, tool.description)
    if not all(isinstance(text, str) for text in texts):
        raise ToolDefinitionError(f"a tool has a name and a description in words, got {texts}")
    if not re.fullmatch(r"[\w.:-]+", tool.name, re.ASCII):
        raise ToolDefinitionError(
            f"the name of a tool has letters, digits, '_', '-', '.' and ':' only, got "
            f"{tool.name!r}; give it one: name=…"
        )
    from detent.core.schema_rules import schema_faults  # with the first tool

    where = f"tool {tool.name!r}"
    if not callable(tool.function):
        raise ToolDefinitionError(f"{where}: the function must be callable, got {tool.function!r}")
    if tool.parameters.get("type") != "object":
        raise ToolDefinitionError(
            f"{where}: parameters must be a JSON Schema with 'type': 'object'"
        )
    if faults := list(schema_faults(tool.parameters)):
        raise ToolDefinitionError(f"{where}: parameters: {'; '.join(faults)}")
    seconds: object = tool.timeout_s
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if seconds is not None and not (is_number and 0 < cast(float, seconds) < inf):
        raise ToolDefinitionError(
            f"{where}: timeout_s must be a number of seconds above 0, got {seconds!r}; "
            "None is no limit"
        )
    if not (callable(tool.on_unknown) or tool.on_unknown in ("ask", "rerun", "fail")):
        raise ToolDefinitionError(
            f"{where}: on_unknown must be 'ask', 'rerun', 'fail' or a function, got "
            f"{tool.on_unknown!r}"
        )
