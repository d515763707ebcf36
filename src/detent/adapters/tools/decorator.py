"""The decorators: a function becomes a tool, and what it returns goes into the state."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    overload,
)

from detent.adapters.state.typed_state import TypedState
from detent.adapters.tools.function_schema import description_of, parameters_of
from detent.core.errors import ToolDefinitionError
from detent.core.schema.type_checks import takes
from detent.core.state.keys import Key
from detent.core.state.state import BaseState
from detent.core.tools.idempotency import OnUnknown
from detent.core.tools.retries import Retries
from detent.core.tools.signature import ToolFunction, name_of, parameters_in, signature_of
from detent.core.tools.tool import Tool, hidden_parameters, wiring
from detent.core.tools.wiring import MARK, Injected, Output, Source, inputs_from, outputs_of

P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")
S = TypeVar("S", bound=TypedState)
S_contra = TypeVar("S_contra", contravariant=True)
F = TypeVar("F", bound=Callable[..., Any])
U = TypeVar("U")
U_contra = TypeVar("U_contra", contravariant=True)
F_co = TypeVar("F_co", covariant=True)


class FunctionTool(Tool, Generic[S_contra, F_co]):
    """A tool made of a function, which can still be called as if it were none."""

    __slots__ = ()

    if TYPE_CHECKING:
        __call__: F_co
    else:

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            """Call the function itself.

            Raises:
                TypeError: the agent would fill a parameter, and here nobody has.
            """
            _require_filled(self, args, kwargs)
            return self.function(*args, **kwargs)

    def accepts(self, state: S_contra) -> bool:
        """Whether the function can work on `state`; a type checker compares it."""
        return super().accepts(state)


def _require_filled(tool: Tool, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
    """Raise TypeError where a default of `inject` would be what the function works with.

    RULE: before the function runs. It finds out later that a placeholder is no value of its type,
    when half of what it does is done, or never: a text is made of everything.
    """
    if not (inputs := signature_of(tool.function).inputs):
        return
    items = parameters_in(tool.function)
    by_place = [item.name for item in items if item.kind <= item.POSITIONAL_OR_KEYWORD]
    given = {*by_place[: len(args)], *kwargs}
    for name, key in ((one.parameter, one.key) for one in inputs if one.parameter not in given):
        raise TypeError(
            f"the agent fills {name!r} of tool {tool.name!r}, from the state key {key!r}; by hand "
            f"pass a value: {tool.name}(…, {name}=…)"
        )


class Wires(TypedDict, total=False):
    """What may be said of a tool beyond its function; each as for `Tool`."""

    inputs_from_state: Mapping[str, str] | None
    outputs_to_state: Mapping[str, Mapping[str, Any]] | None
    outputs_to_string: Mapping[str, Any] | None
    timeout_s: float | None
    retries: Retries | int
    on_unknown: OnUnknown
    binds: Sequence[str] | None
    max_calls: int | None
    labels: Collection[str]


class ToolOptions(Wires, total=False):
    """What may be said of a tool made of a function; each as for `Tool`."""

    name: str | None
    description: str | None


class ToolMaker(Protocol):
    """Makes a tool of a function. What it works on is its first, second or third parameter."""

    @overload
    def __call__(
        self,
        function: Callable[Concatenate[S, P], R],
        name: str | None = None,
        description: str | None = None,
        **wires: Unpack[Wires],
    ) -> FunctionTool[S, Callable[Concatenate[S, P], R]]: ...
    @overload
    def __call__(
        self,
        function: Callable[Concatenate[A, S, P], R],
        name: str | None = None,
        description: str | None = None,
        **wires: Unpack[Wires],
    ) -> FunctionTool[S, Callable[..., R]]: ...
    @overload
    def __call__(
        self,
        function: Callable[Concatenate[A, B, S, P], R],
        name: str | None = None,
        description: str | None = None,
        **wires: Unpack[Wires],
    ) -> FunctionTool[S, Callable[..., R]]: ...
    @overload
    def __call__(
        self,
        function: Callable[P, R],
        name: str | None = None,
        description: str | None = None,
        **wires: Unpack[Wires],
    ) -> FunctionTool[BaseState, Callable[P, R]]: ...


def _typed(function: Callable[..., object]) -> ToolMaker:
    """The overloads are said once, for this function and for what `tool` gives with options."""
    return cast(ToolMaker, function)


@_typed
def create_tool_from_function(
    function: ToolFunction,
    name: str | None = None,
    description: str | None = None,
    **wires: Unpack[Wires],
) -> FunctionTool[Any, Any]:
    """A tool made of a function: its name, its docstring and its typed parameters.

    `function` may be a coroutine function, a bound method, a partial or an object that can be
    called.

    Raises:
        ToolDefinitionError: a parameter is not annotated, or its type has no JSON Schema.
    """
    _require_function(function)
    if unknown := sorted(wires.keys() - Wires.__annotations__.keys()):
        from difflib import get_close_matches  # only for a mistake

        known = tuple(ToolOptions.__annotations__)
        close = [
            f"{name}=…" for option in unknown for name in get_close_matches(option, known, n=1)
        ]
        meant = f"did you mean {' and '.join(close)}? There" if close else "there"
        raise ToolDefinitionError(
            f"a tool has no option {', '.join(map(repr, unknown))}; {meant} is: {', '.join(known)}"
        )
    signature = signature_of(function)
    inputs = (*inputs_from(wiring(wires.get("inputs_from_state"))), *signature.inputs)
    return FunctionTool(
        name or name_of(function),
        description_of(function) if description is None else description,
        parameters_of(function, hidden=hidden_parameters(signature, inputs)),
        function,
        **wires,
    )


@overload
def tool(
    function: Callable[Concatenate[S, P], R], /
) -> FunctionTool[S, Callable[Concatenate[S, P], R]]: ...
@overload
def tool(function: Callable[Concatenate[A, S, P], R], /) -> FunctionTool[S, Callable[..., R]]: ...
@overload
def tool(
    function: Callable[Concatenate[A, B, S, P], R], /
) -> FunctionTool[S, Callable[..., R]]: ...
@overload
def tool(function: Callable[P, R], /) -> FunctionTool[BaseState, Callable[P, R]]: ...
@overload
def tool(**options: Unpack[ToolOptions]) -> ToolMaker: ...
def tool(function: ToolFunction | None = None, /, **options: Unpack[ToolOptions]) -> Any:
    """Make a function a tool, bare or with the options of a `Tool`, which tells of each.

    It can still be called, with exact types. Where a function that works on a typed state has it as
    its first, second or third parameter, a type checker compares it with the agent's; the types of
    a call by hand are exact where it comes first.

    >>> @tool
    ... def add(a: int, b: int) -> int:
    ...     "Add two numbers."
    ...     return a + b
    >>> add.name, add.description, add(1, 2)
    ('add', 'Add two numbers.', 3)
    """
    if function is not None:
        return create_tool_from_function(function, **options)
    return lambda function: create_tool_from_function(function, **options)


def _require_function(function: object) -> None:
    if isinstance(function, str):
        raise ToolDefinitionError(f"@tool takes its options by name: @tool(name={function!r})")
    if isinstance(function, Tool):
        raise ToolDefinitionError(f"{function!r} is a tool already")
    if not callable(function):
        raise ToolDefinitionError(f"@tool stands above a function, got {function!r}")


class Stores(Generic[U_contra]):
    """The decorator that `stores` gives."""

    def __init__(self, output: Output) -> None:
        self._output = output

    # when none fits, mypy speaks of the first overload and pyright of the last: the plain one
    @overload
    def __call__(self: Stores[R], function: Callable[P, R], /) -> Callable[P, R]: ...
    @overload
    def __call__(
        self: Stores[R], function: Callable[P, Coroutine[Any, Any, R]], /
    ) -> Callable[P, Coroutine[Any, Any, R]]: ...
    @overload
    def __call__(  # pyright: ignore[reportOverlappingOverload]  # so that it is the last as well
        self: Stores[R], function: Callable[P, R], /
    ) -> Callable[P, R]: ...
    def __call__(self, function: Any, /) -> Any:
        """The function itself, with a mark that `Tool` finds."""
        try:
            setattr(function, MARK, (self._output, *outputs_of(function)))
        except AttributeError:
            raise ToolDefinitionError(
                f"@stores stands on a function, below @tool, and not on {function!r}"
            ) from None
        return function


@overload
def stores(key: Key[Any, U]) -> Stores[U]: ...
@overload
def stores(key: Key[Any, Any], source: str) -> Callable[[F], F]: ...
@overload
def stores(key: Key[Any, U], source: Callable[[R], U]) -> Stores[R]: ...
def stores(key: Key[Any, Any], source: Source = None) -> Any:
    """Merge what a tool's function returns, or what `source` makes of it, into the state.

    It stands below ``@tool``. A type checker compares the key's type with what the function
    returns; a `source` by name is compared when the agent is built.

    Raises:
        ToolDefinitionError: `source` is a function that does not take one value.
    """
    if callable(source) and not takes(source, 1):
        raise ToolDefinitionError(
            f"@stores({key.name!r}): 'source' is called with the result, which {source!r} does not "
            "take"
        )
    return Stores(Output(key.name, source, declared=key))


def inject(key: Key[T, Any]) -> T:
    """The default of a tool's parameter that the state fills and no model sees.

    A type checker compares the key's type with the parameter's: ``user: str =
    inject(Research.user)``.

    Whose key it is no checker can say, as a default is no part of a function's type: an agent with
    another state is refused when it is built.

    Raises:
        TypeError: it is no key.
    """
    if not isinstance(key, Key):
        raise TypeError(
            f"inject takes a typed key, as in inject(Research.user), got {key!r:.80}; the keys of "
            "a dict schema are wired by @tool(inputs_from_state={'key': 'parameter'})"
        )
    return cast(T, Injected(key))
