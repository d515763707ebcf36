"""From a function to what a model may pass to it: its signature, its docstring, its JSON Schema."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    TypeAlias,
    TypedDict,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from attrs import NOTHING, field, frozen

from detent.core.errors import ToolDefinitionError
from detent.core.frozen import FrozenDict, freeze
from detent.core.idempotency import IdempotencyKey
from detent.core.schemas import Json, SchemaWriter, annotated_text, documented
from detent.core.state import BaseState
from detent.core.wiring import Injected, Input

ToolFunction: TypeAlias = Callable[..., Any]

OUTPUT_TYPES = "__detent_output_types__"
"""Where a function may say which keys the dict that it returns has, by name."""


@frozen
class StateParameter:
    """The parameter that gets the state itself, and the kind of state that it wants."""

    name: str
    kind: type[BaseState]


@frozen
class Signature:
    """What a function takes and gives.

    `declared` has the type of each parameter, Any without an annotation. `is_open` says that it may
    take others as well: it has ``**kwargs``, or cannot be looked into. A parameter that a partial
    has bound is none.
    """

    declared: FrozenDict[str, Any] = field(factory=FrozenDict)
    required: frozenset[str] = frozenset()
    returns: Any = Any
    inputs: tuple[Input, ...] = ()
    state: StateParameter | None = None
    keys: tuple[str, ...] = ()
    is_open: bool = False
    is_async: bool = False


def signature_of(function: ToolFunction) -> Signature:
    """The signature of a function, method, partial or callable object.

    Raises:
        ToolDefinitionError: an annotation names something unknown, or several parameters want the
            state.
    """
    if inspect.isbuiltin(function):
        return Signature(is_open=True)
    hints = _hints(function)
    taken = _taken(function)
    named = [item for item in taken if item.kind not in (item.VAR_POSITIONAL, item.VAR_KEYWORD)]
    declared = FrozenDict({item.name: _declared(item, hints) for item in named})
    return Signature(
        declared=declared,
        required=frozenset(item.name for item in named if item.default is item.empty),
        returns=_returns(function, hints),
        inputs=tuple(
            Input(item.default.key.name, item.name, item.default.key)
            for item in named
            if isinstance(item.default, Injected)
        ),
        state=_state_parameter(function, declared),
        keys=tuple(name for name, kind in declared.items() if kind is IdempotencyKey),
        is_open=any(item.kind is item.VAR_KEYWORD for item in taken),
        is_async=inspect.iscoroutinefunction(function)
        or inspect.iscoroutinefunction(_annotated(function)),
    )


def parameters_of(function: ToolFunction, *, hidden: frozenset[str]) -> FrozenDict[str, object]:
    """The JSON Schema of what a model may pass: all parameters but the `hidden` ones.

    A parameter is described by its ``Annotated[T, "description"]``, else by the docstring.

    Raises:
        ToolDefinitionError: a parameter has no annotation, has a type that no schema describes, or
            is ``*args`` or ``**kwargs``.
    """
    hints = _hints(function)
    texts = _texts(_docstring(function))
    writer = SchemaWriter(described)
    visible = [item for item in _taken(function) if item.name not in hidden]
    properties: Json = {}
    for item in visible:
        where = f"function {name_of(function)!r}: parameter {item.name!r}"
        _require_plain(where, item, hints)
        text = annotated_text(hints[item.name]) or texts.get(item.name, "")
        properties[item.name] = _property(where, item, hints, text, writer)
    schema: Json = {"type": "object", "properties": properties}
    if required := [item.name for item in visible if item.default is item.empty]:
        schema["required"] = required
    schema["additionalProperties"] = False
    if writer.definitions:
        schema["$defs"] = writer.definitions
    return FrozenDict({key: freeze(value) for key, value in schema.items()})


def name_of(function: ToolFunction) -> str:
    """What a function is called; an object that can be called, by its class."""
    named = function.func if isinstance(function, partial) else function
    return str(getattr(named, "__name__", type(named).__name__))


def description_of(function: ToolFunction) -> str:
    """What the docstring says of the function as a whole; "" without one."""
    from docstring_parser import parse  # only tools made from functions need it

    return (parse(_docstring(function)).description or "").strip()


def described(kind: type) -> dict[str, str]:
    """What the docstring of a class says of its fields, and of itself under ""."""
    text = inspect.cleandoc(vars(kind).get("__doc__") or "")
    if not text or text.startswith(f"{kind.__name__}("):  # dataclass has written that one
        return {}
    from docstring_parser import parse

    return {"": (parse(text).description or "").strip(), **_texts(text)}


def state_kind(declared: Any) -> type[BaseState] | None:
    """The kind of state that a parameter asks for: a state class, optional or not."""
    if get_origin(declared) is Annotated:
        return state_kind(get_args(declared)[0])
    if get_origin(declared) in (Union, UnionType):
        some = [option for option in get_args(declared) if option is not NoneType]
        return state_kind(some[0]) if len(some) == 1 else None
    return declared if isinstance(declared, type) and issubclass(declared, BaseState) else None


def _state_parameter(
    function: ToolFunction, declared: Mapping[str, object]
) -> StateParameter | None:
    found = [
        StateParameter(name, kind)
        for name, hint in declared.items()
        if (kind := state_kind(hint)) is not None
    ]
    if len(found) > 1:
        names = " and ".join(repr(item.name) for item in found)
        raise ToolDefinitionError(
            f"function {name_of(function)!r}: one parameter may get the state, not {names}"
        )
    return found[0] if found else None


def _returns(function: ToolFunction, hints: Mapping[str, Any]) -> Any:
    declared = getattr(function, OUTPUT_TYPES, None)
    return hints.get("return", Any) if declared is None else TypedDict("Outputs", declared)  # type: ignore[operator]  # made at run time


def _annotated(function: ToolFunction) -> ToolFunction:
    """The function that has the annotations and the docstring of `function`."""
    if isinstance(function, partial):
        return _annotated(function.func)
    if isinstance(function, type):
        return cast(ToolFunction, vars(function).get("__init__", function.__call__))
    return function if inspect.isroutine(function) else type(function).__call__


def _taken(function: ToolFunction) -> list[inspect.Parameter]:
    bound = function.keywords if isinstance(function, partial) else {}
    parameters = inspect.signature(function).parameters.values()
    return [item for item in parameters if item.name not in bound]


def _hints(function: ToolFunction) -> dict[str, Any]:
    try:
        return get_type_hints(_annotated(function), include_extras=True)
    except NameError as error:
        raise ToolDefinitionError(
            f"function {name_of(function)!r}: an annotation names something unknown: {error}. "
            "Import it at module level, not only for type checking."
        ) from error


def _docstring(function: ToolFunction) -> str:
    if isinstance(function, partial):
        return _docstring(function.func)
    text = inspect.getdoc(_annotated(function))
    return text or (inspect.getdoc(type(function)) if not inspect.isroutine(function) else "") or ""


def _texts(docstring: str) -> dict[str, str]:
    from docstring_parser import parse

    found = parse(docstring).params
    return {item.arg_name: item.description for item in found if item.description}


def _require_plain(where: str, item: inspect.Parameter, hints: Mapping[str, object]) -> None:
    if item.kind in (item.VAR_POSITIONAL, item.VAR_KEYWORD):
        raise ToolDefinitionError(
            f"{where} takes any number of values, and a model needs names: write them out"
        )
    if item.kind is item.POSITIONAL_ONLY:
        raise ToolDefinitionError(
            f"{where} is positional only; arguments come by name: drop the '/'"
        )
    if item.name == "self" and item.name not in hints:
        raise ToolDefinitionError(
            f"{where}: make the tool of the bound method, as in tool(it.method)"
        )
    if item.name not in hints:
        raise ToolDefinitionError(f"{where} has no type annotation; write e.g. {item.name}: str")


def _property(
    where: str,
    item: inspect.Parameter,
    hints: Mapping[str, object],
    text: str,
    writer: SchemaWriter,
) -> Json:
    try:
        schema = writer.schema(_declared(item, hints))
    except TypeError as error:
        raise ToolDefinitionError(
            f"{where}: {error}; take a type that JSON can carry, or fill it from the state"
        ) from error
    return documented(schema, text, NOTHING if item.default is item.empty else item.default)


def _declared(item: inspect.Parameter, hints: Mapping[str, object]) -> Any:
    """The type of a parameter. One that is None by default may be None, whatever it says."""
    declared: Any = hints.get(item.name, Any)
    if item.default is not None or declared is Any:
        return declared
    if get_origin(declared) is Annotated:
        kind, *notes = get_args(declared)
        return Annotated[(Union[kind, None], *notes)]  # noqa: UP007 - not every kind has an operator
    return Union[declared, None]  # noqa: UP007 - as above
