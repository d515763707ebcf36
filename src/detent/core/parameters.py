"""From a function's signature to the JSON Schema (2020-12) of what a model may pass to it."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import (
    Annotated,
    Any,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from attrs import NOTHING, fields, frozen, has

from detent.core.errors import ToolDefinitionError
from detent.core.frozen import FrozenDict, freeze, thaw
from detent.core.keys import type_name

T = TypeVar("T")
Json: TypeAlias = dict[str, object]

SCALARS: Mapping[object, str] = {
    str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null",
}  # fmt: skip  # a table reads best on one line


@frozen
class Signature:
    """What a function takes: the schema that a model sees, and the types that the function declares."""

    parameters: FrozenDict[str, object]
    types: FrozenDict[str, Any]
    returns: object


def signature_of(function: Callable[..., object], *, hidden: frozenset[str]) -> Signature:
    """The signature of `function`, its `hidden` parameters left out of the schema.

    A parameter is described by its ``Annotated[T, "description"]``, else by the docstring.

    Raises:
        ToolDefinitionError: a parameter has no annotation, has a type that no schema describes, or is
            ``*args`` or ``**kwargs``.
    """
    hints = _hints(function)
    described = _described(function)
    properties: Json = {}
    required: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in hidden:
            continue
        properties[parameter.name] = _property(function, parameter, hints, described)
        if parameter.default is parameter.empty:
            required.append(parameter.name)
    schema: Json = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    returns = hints.pop("return", Any)
    frozen_schema = FrozenDict({key: freeze(value) for key, value in schema.items()})
    return Signature(frozen_schema, FrozenDict(hints), returns)


def description_of(function: Callable[..., object]) -> str:
    """What the docstring says of the function as a whole; "" without one."""
    from docstring_parser import parse  # only tools made from functions need it

    return parse(inspect.getdoc(function) or "").description or ""


def schema_of(declared: object) -> Json:
    """The JSON Schema of a type.

    Raises:
        TypeError: no schema describes the type.
    """
    if declared is Any or declared is object:
        return {}
    if declared in SCALARS:
        return {"type": SCALARS[declared]}
    origin, arguments = get_origin(declared), get_args(declared)
    if origin is Annotated:
        texts = [item for item in arguments[1:] if isinstance(item, str)]
        return {**schema_of(arguments[0]), **({"description": texts[0]} if texts else {})}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is Union or origin is types.UnionType:
        return {"anyOf": [schema_of(argument) for argument in arguments]}
    if isinstance(declared, type) and issubclass(declared, Enum):
        return {"enum": [member.value for member in declared]}
    return _container(declared, origin or declared, arguments)


def _container(declared: object, kind: object, arguments: tuple[object, ...]) -> Json:
    if not isinstance(kind, type):
        raise TypeError(f"no JSON Schema describes {type_name(declared)}")
    if is_typeddict(kind) or has(kind) or hasattr(kind, "__dataclass_fields__"):
        return _record(kind)
    if kind is tuple and arguments and arguments[-1] is not Ellipsis:
        items = [schema_of(argument) for argument in arguments]
        return {
            "type": "array",
            "prefixItems": items,
            "minItems": len(items),
            "maxItems": len(items),
        }
    if issubclass(kind, Mapping):
        values = schema_of(arguments[1]) if arguments else {}
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    if issubclass(kind, Sequence | AbstractSet) and not issubclass(kind, bytes):
        items_schema = schema_of(arguments[0]) if arguments else {}
        unique = {"uniqueItems": True} if issubclass(kind, AbstractSet) else {}
        return {"type": "array", **({"items": items_schema} if items_schema else {}), **unique}
    raise TypeError(f"no JSON Schema describes {type_name(declared)}")


def _record(kind: type) -> Json:
    """An attrs class, a dataclass or a TypedDict: an object with one property for each field."""
    hints = get_type_hints(kind, include_extras=True)
    if is_typeddict(kind):
        required = sorted(kind.__required_keys__)  # type: ignore[attr-defined]  # a TypedDict has it
    elif has(kind):
        required = [item.name for item in fields(kind) if item.default is NOTHING]
    else:
        required = [
            name
            for name, item in kind.__dataclass_fields__.items()  # type: ignore[attr-defined]  # as above
            if not callable(item.default_factory)
            and repr(item.default).endswith("MISSING_TYPE object>")
        ]
    properties = {name: schema_of(hint) for name, hint in hints.items()}
    return {"type": "object", "properties": properties, "required": required}


def _hints(function: Callable[..., object]) -> dict[str, Any]:
    annotated = function if inspect.isroutine(function) else type(function).__call__
    try:
        return get_type_hints(annotated, include_extras=True)
    except NameError as error:
        raise ToolDefinitionError(
            f"{_called(function)}: an annotation names something unknown: {error}. "
            "Import it at module level, not only for type checking."
        ) from error


def _described(function: Callable[..., object]) -> dict[str, str]:
    from docstring_parser import parse  # only tools made from functions need it

    found = parse(inspect.getdoc(function) or "").params
    return {item.arg_name: item.description for item in found if item.description}


def _property(
    function: Callable[..., object],
    parameter: inspect.Parameter,
    hints: Mapping[str, object],
    described: Mapping[str, str],
) -> Json:
    where = f"{_called(function)}: parameter {parameter.name!r}"
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise ToolDefinitionError(
            f"{where} takes any number of values; a model needs named parameters"
        )
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise ToolDefinitionError(f"{where} is positional only; a model passes arguments by name")
    if parameter.name not in hints:
        raise ToolDefinitionError(
            f"{where} has no type annotation; write e.g. {parameter.name}: str"
        )
    try:
        schema = schema_of(hints[parameter.name])
    except TypeError as error:
        raise ToolDefinitionError(f"{where}: {error}; pass `parameters` by hand") from error
    if parameter.name in described:
        schema.setdefault("description", described[parameter.name])
    if parameter.default is not parameter.empty:
        schema["default"] = _default(parameter.default)
    return schema


def _default(value: object) -> object:
    plain = thaw(value.value if isinstance(value, Enum) else value)
    return (
        plain if isinstance(plain, str | int | float | bool | list | dict | None) else repr(plain)
    )


def _called(function: Callable[..., object]) -> str:
    return f"function {getattr(function, '__name__', None) or type(function).__name__!r}"
