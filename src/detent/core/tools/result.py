"""What came of running a tool: a result for the model and the state, or a fault."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from inspect import isroutine
from math import isfinite, isnan
from types import NoneType
from typing import Any, Literal, TypeAlias, TypeGuard

from attrs import evolve, field, frozen

from detent.core.chat.messages import FileContent, ImageContent, ResultPart, TextContent
from detent.core.errors import DetentError
from detent.core.schema.conversion import plain
from detent.core.schema.record_fields import PARTLESS, field_names
from detent.core.schema.type_checks import type_name
from detent.core.state.keys import Write, name_of
from detent.core.state.state import BaseState
from detent.core.tools import wording
from detent.core.tools.tool import Tool
from detent.core.tools.type_compatibility import fits
from detent.core.tools.wiring import AS_IT_IS, Reply, TextRule
from detent.core.values.fast_values import fast_init
from detent.core.values.frozen import ATOMS
from detent.core.values.short_repr import MASK, joined_repr

FaultKind: TypeAlias = Literal[
    "unknown_tool",
    "invalid_arguments",
    "missing_input",
    "raised",
    "timeout",
    "bad_result",
    "unmergeable",
    "unknown_outcome",
    "cancelled",
    "no_answer",
    "over_limit",
]
"""Why a call failed. "missing_input" is a state key that fills a parameter and holds nothing,
"no_answer" an agent that has ended without one, "over_limit" a call more than may be made."""

MISSING = object()
YIELDING = (Iterator, AsyncIterator)
PARTS = (TextContent, ImageContent, FileContent)
WHOLE = frozenset({dict, list, tuple, set, frozenset})
SCALARS = frozenset({str, int, float, bool, type(None)})


@fast_init
@frozen(repr=False)
class ToolResult:
    """What a tool gave: content for the model to read, and writes for the state.

    `warnings` tell observers what the wiring expected and the result did not have. `display` is
    what people see in place of the content, where that quotes what is secret in its call; it prints
    in its place, too.
    """

    content: str | tuple[ResultPart, ...]
    writes: tuple[Write, ...] = ()
    warnings: tuple[str, ...] = ()
    display: str | tuple[ResultPart, ...] | None = None

    @property
    def visible(self) -> str | tuple[ResultPart, ...]:
        """The content as people may see it."""
        return self.content if self.display is None else self.display

    def __rich_repr__(self) -> Iterator[tuple[str, object]]:
        """What prints, by name."""
        yield ("content" if self.display is None else "display", self.visible)
        hides_writes = self.display is not None and self.writes  # they may hold what is quoted
        yield from (("writes", MASK if hides_writes else self.writes), ("warnings", self.warnings))

    def __repr__(self) -> str:
        return f"ToolResult({joined_repr(self.__rich_repr__())})"


@frozen
class ToolFault:
    """Why a tool call failed. `message` is for the model to read and act on.

    `retryable` says that the tool's own rule for retries holds for this failure. `cause` is what
    was raised, as long as the process lives that saw it; it is neither compared nor stored.
    """

    kind: FaultKind
    message: str
    retryable: bool = False
    cause: BaseException | None = field(default=None, init=False, eq=False, repr=False)

    def because(self, cause: BaseException) -> ToolFault:
        """The same fault, with what was raised."""
        fault = evolve(self)
        object.__setattr__(fault, "cause", cause)
        return fault


class ResultError(DetentError, ValueError):
    """A tool's result is not what its wiring makes of it."""


def result_of(tool: Tool, value: object) -> ToolResult:
    """What `value`, returned by the tool's function, means for the model and for the state.

    Raises:
        ResultError: the tool's own conversion of its result raised, or made no content of it.
    """
    warnings = [] if value is not None else [*_forgotten(tool)]
    writes: tuple[Write, ...] = ()
    if isinstance(value, Reply):
        writes = value.writes
        value = value.content
    elif isinstance(value, BaseState):  # its writes are known, and it is not for the model
        value = None
    try:
        if type(value) in SCALARS and tool.text_rules is AS_IT_IS and not tool.outputs:
            return ToolResult(text_of(value), writes, tuple(warnings))  # usual, and quick
        _require_whole(value)
        # all of them or none: what the model is told and what the state holds must agree
        content = _content(tool, value, warnings)
        writes = (*_writes(tool, value, warnings), *writes)
    except Exception as error:
        problem = type(error).__name__
        with suppress(Exception):  # whose own text fails: the tool has run, and is not to run again
            problem = f"{problem}: {error}"
        raise ResultError(wording.result_unusable(tool.name, problem)) from error
    return ToolResult(content, writes, tuple(warnings))


def _forgotten(tool: Tool) -> Iterator[str]:
    """What None tells of a function that promises something else: nothing else would tell it."""
    kind = tool.signature.returns
    if not fits(NoneType, kind):
        yield f"tool {tool.name!r} returned None, and says {type_name(kind)}: is a return missing?"


def text_of(value: object, kinds: list[str] | None = None) -> str:
    """A value as a model reads it: a string as it is, all else as JSON, or as Python prints it.

    `kinds` gets the name of the type where it is the last.
    """
    if type(value) is int:  # as JSON has it, and in a tenth of the time (0.1 µs of 1.4)
        return str(value)
    value = value.value if isinstance(value, Enum) else value
    if isinstance(value, str):
        return value
    try:
        return _in_json(value)
    except (TypeError, ValueError, RecursionError):  # e.g. a key that is no text
        with suppress(TypeError, ValueError, RecursionError):
            return _in_json(_json(value))
        kind = type(value)
        if kinds is not None:
            kinds.append(kind.__name__)
        if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:
            return f"<{kind.__name__}>"  # its address says nothing, and differs in every process
        return str(value)


_in_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=plain).encode


def _json(value: object) -> object:
    """The value in JSON's own types. What JSON has no number for is told by its name."""
    if isinstance(value, float) and not isfinite(value):
        return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value is None or type(value) in (str, bool, int, float):
        return value
    if isinstance(value, Mapping):
        return {text_of(_json(key)): _json(item) for key, item in value.items()}
    if isinstance(value, list | tuple) and field_names(type(value)) is None:
        return [_json(item) for item in value]
    convert = getattr(value, "to_dict", None)
    if isroutine(convert) and field_names(type(value)) is None:
        return _json(convert())
    return _json(plain(value))


def _content(tool: Tool, value: object, warnings: list[str]) -> str | tuple[ResultPart, ...]:
    """What the model reads; `warnings` gets what it would have read if the result had it."""
    rules = tool.text_rules
    if not isinstance(rules, TextRule):
        parts = {name: _part_for_model(tool, rule, value, warnings) for name, rule in rules.items()}
        return _message(tool, parts, warnings)
    part = _part_for_model(tool, rules, value, warnings)
    if type(part) in SCALARS and not rules.raw:
        return text_of(part)
    if _is_content(part):
        return (part,)
    if isinstance(part, list | tuple) and part and all(map(_is_content, part)):
        return tuple(part)
    if rules.raw and not isinstance(part, str):
        raise TypeError(f"a raw result is text or content parts, not {type(part).__name__}")
    return _message(tool, part, warnings)


def _message(tool: Tool, value: object, warnings: list[str]) -> str:
    if isroutine(value):
        name = name_of(value)
        given = f"a tool returns what a function gives, and not the function {name!r} itself"
        raise TypeError(f"{given}: call it, {name}()")
    kinds: list[str] = []
    text = text_of(value, kinds)
    for name in kinds:
        warnings.append(
            f"the result of tool {tool.name!r} is no JSON: the model reads how Python prints a "
            f"{name}; return a text, a dict or a dataclass, or say "
            "outputs_to_string={'handler': …}"
        )
        if text == f"<{name}>":
            return wording.result_without_text(tool.name, name)
    return text


def _part_for_model(tool: Tool, rule: TextRule, value: object, warnings: list[str]) -> object:
    """What a rule makes of a result. A part that a record lacks is None; text is its own part."""
    part = value if rule.source is None else _part(value, rule.source)
    if part is MISSING:
        warnings.append(f"the result of tool {tool.name!r} has no {rule.source!r} for the model")
        part = None if _has_parts(value) else value
    return part if rule.handler is None else rule.handler(part)


def _require_whole(value: object) -> None:
    kind = type(value)
    if kind not in ATOMS and kind not in WHOLE and isinstance(value, YIELDING):
        name = kind.__name__
        raise TypeError(f"a tool returns all at once, as a list, and not a {name} that yields it")


def _writes(tool: Tool, value: object, warnings: list[str]) -> Iterator[Write]:
    """The writes of the parts that there are; `warnings` gets a sentence about each other one."""
    for output in tool.outputs:
        source = output.source
        if source is None:
            yield Write(output.key, value, output.handler)
        elif not isinstance(source, str):
            yield Write(output.key, source(value), output.handler)
        elif (part := _part(value, source)) is not MISSING:
            yield Write(output.key, part, output.handler)
        else:
            lack = f"the result of tool {tool.name!r} has no {source!r}"
            warnings.append(f"{lack} for state key {output.key!r}")


def _part(value: Any, source: str) -> object:
    """The key of a dict, or the attribute of an object, that is called `source`."""
    if type(value) is dict or isinstance(value, Mapping):  # to ask an ABC takes long
        return value.get(source, MISSING)
    part = getattr(value, source, MISSING) if _has_parts(value) else MISSING
    return MISSING if isroutine(part) else part


def _has_parts(value: object) -> bool:
    """Whether parts of the value have names; those of a named tuple have, of a tuple not."""
    return not isinstance(value, PARTLESS) or field_names(type(value)) is not None


def _is_content(value: object) -> TypeGuard[ResultPart]:
    return isinstance(value, PARTS)
