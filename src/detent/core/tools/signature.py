"""What a function takes and gives, by its signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import partial
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

from attrs import frozen

from detent.core.errors import ToolDefinitionError
from detent.core.schema.type_checks import sole_type
from detent.core.state.state import BaseState
from detent.core.tools.idempotency import FencingToken, IdempotencyKey
from detent.core.tools.wiring import Injected, Input
from detent.core.values.frozen import ATOMS, EMPTY, FrozenDict

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

    `declared` has the type of each parameter, Any without an annotation. `defaults` has what stands
    in for those that a call leaves out; of the `lent` among them, which can be changed, each call
    gets a copy. `is_open` says that it may take others as well: it has ``**kwargs``, or cannot be
    looked into. A parameter that a partial has bound is none; `bound` are the
    values that it has given by name, of the `bound_types`.
    """

    declared: FrozenDict[str, Any] = EMPTY
    required: frozenset[str] = frozenset()
    defaults: FrozenDict[str, Any] = EMPTY
    lent: FrozenDict[str, Any] = EMPTY
    returns: Any = Any
    inputs: tuple[Input, ...] = ()
    state: StateParameter | None = None
    keys: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()
    is_open: bool = False
    is_async: bool = False
    yields: bool = False
    bound: FrozenDict[str, object] = EMPTY
    bound_types: FrozenDict[str, Any] = EMPTY


def signature_of(function: ToolFunction) -> Signature:
    """The signature of a function, method, partial or callable object.

    Raises:
        ToolDefinitionError: an annotation names something unknown, or several parameters want the
            state.
    """
    if inspect.isbuiltin(function):
        return Signature(is_open=True)
    hints = hints_of(function)
    parameters = parameters_in(function)
    bound = FrozenDict(function.keywords if isinstance(function, partial) else {})
    open_kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    items = [item for item in parameters if item.kind not in open_kinds]
    kinds = FrozenDict({item.name: declared_type(item, hints) for item in items})
    defaults = {
        item.name: item.default
        for item in items
        if item.default is not item.empty and not isinstance(item.default, Injected)
    }
    lent = {name: value for name, value in defaults.items() if type(value) not in ATOMS}
    lent = {name: own for name, value in lent.items() if (own := _own_copy(value)) is not None}
    return Signature(
        declared=kinds,
        required=frozenset(item.name for item in items if item.default is item.empty),
        defaults=FrozenDict(defaults | lent),
        lent=FrozenDict(lent),
        returns=_returns(function, hints),
        inputs=tuple(
            Input(item.default.key.name, item.name, item.default.key)
            for item in items
            if isinstance(item.default, Injected)
        ),
        state=_state_parameter(function, kinds),
        keys=tuple(name for name, kind in kinds.items() if kind is IdempotencyKey),
        tokens=tuple(name for name, kind in kinds.items() if kind is FencingToken),
        is_open=any(item.kind is item.VAR_KEYWORD for item in parameters),
        is_async=_is_any(function, inspect.iscoroutinefunction),
        yields=_is_any(function, inspect.isgeneratorfunction, inspect.isasyncgenfunction),
        bound=bound,
        bound_types=FrozenDict({name: hints.get(name, Any) for name in bound}),
    )


def _own_copy(value: object) -> object | None:
    """A copy that the tool keeps, of what JSON can say; None of anything else, a client, say.

    RULE: a call that leaves an argument out runs with the default that people were shown. Whoever
    holds the function's own could change it, the function itself to begin with.
    """
    from detent.core.tools.default_forms import value_form  # loaded with the first such default

    try:
        value_form(value)
        return deepcopy(value)
    except Exception:  # noqa: BLE001 - of any class: then it is shown by the name of its type
        return None


def name_of(function: ToolFunction) -> str:
    """What a function is called; an object that can be called, by its class."""
    inner = function.func if isinstance(function, partial) else function
    return str(getattr(inner, "__name__", type(inner).__name__))


def state_kind(hint: Any) -> type[BaseState] | None:
    """The kind of state that a parameter asks for: a state class, optional or not."""
    # A union of two state classes is none: it would be unclear which keys the function needs.
    kind = sole_type(hint)
    return kind if isinstance(kind, type) and issubclass(kind, BaseState) else None


def _state_parameter(function: ToolFunction, hints: Mapping[str, object]) -> StateParameter | None:
    parameters = [
        StateParameter(name, kind)
        for name, hint in hints.items()
        if (kind := state_kind(hint)) is not None
    ]
    if len(parameters) > 1:
        names = " and ".join(repr(item.name) for item in parameters)
        raise ToolDefinitionError(
            f"function {name_of(function)!r}: one parameter may get the state, not {names}"
        )
    return parameters[0] if parameters else None


def _returns(function: ToolFunction, hints: Mapping[str, Any]) -> Any:
    types = getattr(function, OUTPUT_TYPES, None)
    return TypedDict("Outputs", types) if types is not None else hints.get("return", Any)  # type: ignore[operator]  # made at run time


def _is_any(function: ToolFunction, *kinds: Callable[[object], bool]) -> bool:
    """Whether calling the function calls one of these kinds."""
    return any(kind(form) for kind in kinds for form in (function, annotated_function(function)))


def annotated_function(function: ToolFunction) -> ToolFunction:
    """The function that has the annotations and the docstring of `function`."""
    if isinstance(function, partial):
        return annotated_function(function.func)
    if isinstance(function, type):
        return cast(ToolFunction, vars(function).get("__init__", function.__call__))
    return function if inspect.isroutine(function) else type(function).__call__


def parameters_in(function: ToolFunction) -> list[inspect.Parameter]:
    """The parameters of a function, but for those that a partial has bound."""
    arguments = function.keywords if isinstance(function, partial) else {}
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError as error:
        raise ToolDefinitionError(
            f"function {name_of(function)!r} does not say what it takes; call it in one that does"
        ) from error
    return [item for item in parameters if item.name not in arguments]


def hints_of(function: ToolFunction) -> dict[str, Any]:
    """The annotations of a function, by the names of its parameters and for what it returns."""
    try:
        return get_type_hints(annotated_function(function), include_extras=True)
    except NameError as error:
        raise ToolDefinitionError(
            f"function {name_of(function)!r}: an annotation names something unknown: {error}. "
            "Define or import it at module level, and not only for type checking."
        ) from error


def declared_type(item: inspect.Parameter, hints: Mapping[str, object]) -> Any:
    """The type of a parameter. One that is None by default may be None, whatever it says."""
    hint: Any = hints.get(item.name, Any)
    if item.default is not None or hint is Any:
        return hint
    if get_origin(hint) is Annotated:
        kind, *notes = get_args(hint)
        return Annotated[(Union[kind, None], *notes)]  # noqa: UP007 - not every kind has an operator
    return Union[hint, None]  # noqa: UP007 - not every kind has an operator
