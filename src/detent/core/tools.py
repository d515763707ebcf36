"""Tools: what a model may call, and how each is wired to the state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
    overload,
)

from attrs import Factory, field, frozen

from detent.core.errors import ToolDefinitionError
from detent.core.frozen import FrozenDict
from detent.core.idempotency import OnUnknown
from detent.core.messages import frozen_mapping
from detent.core.parameters import (
    Signature,
    ToolFunction,
    description_of,
    name_of,
    parameters_of,
    signature_of,
)
from detent.core.retries import Retries, retries_of
from detent.core.secrecy import masked_in
from detent.core.state import BaseState, State, TypedState
from detent.core.tool_parts import require_parts
from detent.core.wiring import (
    Input,
    Output,
    TextRule,
    inputs_from,
    outputs_from,
    outputs_of,
    text_rules_from,
)

if TYPE_CHECKING:
    from detent.core.conversion import Reader
    from detent.core.spec import AgentSpec

P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")
B = TypeVar("B")
S = TypeVar("S", bound=TypedState)
S_contra = TypeVar("S_contra", contravariant=True)
F_co = TypeVar("F_co", covariant=True)


@frozen
class ToolSpec:
    """A tool as the model sees it: `parameters` is a JSON Schema (2020-12), `masked` are secret."""

    name: str
    description: str
    parameters: FrozenDict[str, object] = field(converter=frozen_mapping)
    masked: frozenset[str] = field(default=frozenset(), repr=False)


def _wiring(value: Mapping[str, object] | None) -> FrozenDict[str, Any]:
    if value is not None and not isinstance(value, Mapping):
        raise ToolDefinitionError(f"what wires a tool to the state is a dict, got {value!r}")
    return frozen_mapping(value or {})


def _schema(value: Mapping[str, Any]) -> FrozenDict[str, Any]:
    given: object = value
    if not isinstance(given, Mapping):
        is_model = hasattr(given, "model_json_schema")
        advice = "; take its model_json_schema()" if is_model else ""
        raise ToolDefinitionError(f"parameters is a JSON Schema as a dict, got {given!r}{advice}")
    return frozen_mapping(value)


def _signature(tool: Tool) -> Signature:
    require_parts(tool)
    signature = signature_of(tool.function)
    if signature.yields:
        raise ToolDefinitionError(
            f"tool {tool.name!r}: the function yields; a tool returns all at once"
        )
    return signature


def _inputs(tool: Tool) -> tuple[Input, ...]:
    return (*inputs_from(tool.inputs_from_state), *tool.signature.inputs)


def _outputs(tool: Tool) -> tuple[Output, ...]:
    return (*outputs_from(tool.outputs_to_state), *outputs_of(tool.function))


def _hidden_of(tool: Tool) -> frozenset[str]:
    """The parameters that the state fills: no model sees them, nor can it pass them."""
    return _hidden(tool.signature, tool.inputs)


def _masked_of(tool: Tool) -> frozenset[str]:
    return masked_in(tool.signature.declared, tool.parameters)


def _readers(tool: Tool) -> FrozenDict[str, Reader]:
    """What makes the model's arguments what is declared; where JSON has no form of it, nothing."""
    from detent.core.conversion import reader  # loaded with the first tool, not with `tool`
    from detent.core.schemas import has_schema

    declared = {k: v for k, v in tool.signature.declared.items() if k not in tool.hidden}
    return FrozenDict({name: reader(kind) for name, kind in declared.items() if has_schema(kind)})


def _text_rules(tool: Tool) -> TextRule | FrozenDict[str, TextRule]:
    return text_rules_from(tool.outputs_to_string)


def _visible(tool: Tool) -> ToolSpec:
    shown = {"type": "object", "properties": {}, **tool.parameters}
    if tool.hidden:
        from detent.core.hiding import without_properties
        from detent.core.schema_rules import schema_faults

        shown = without_properties(shown, tool.hidden)
        if faults := list(schema_faults(shown)):
            names = ", ".join(map(repr, sorted(tool.hidden)))
            raise ToolDefinitionError(
                f"tool {tool.name!r}: without {names}, which the state fills, parameters are no "
                f"schema: {'; '.join(faults)}"
            )
    return ToolSpec(tool.name, tool.description, shown, tool.masked)


def _fits(tool: Tool) -> Callable[[Mapping[str, object]], bool]:
    """Whether arguments are what the model was asked for."""
    from detent.core.json_fit import checker  # as above

    return checker(tool.spec.parameters)


@frozen
class Tool:
    """A function that a model may call.

    Attributes:
        name: what the model calls it: letters, digits and ``_ - . :``.
        description: what it does, for the model.
        parameters: JSON Schema of its arguments. What the state fills is taken out of what the
            model sees.
        function: what is called, with the arguments by name; it may be a coroutine function. A
            parameter annotated with a state class gets the state itself.
        outputs_to_string: how the result becomes text: ``{"source": part of the result, "handler":
            function, "raw_result": True for content parts}``, all optional, or such a rule for each
            of several parts by name. Without it a string stays, all else becomes JSON.
        inputs_from_state: ``{state key: parameter}``: values that come from the state, not the
            model.
        outputs_to_state: ``{state key: {"source": part of the result, "handler": function}}``: what
            is merged into the state; without a source the whole result.
        timeout_s: seconds that one attempt may take; None is no limit.
        retries: what happens after a failed attempt; a number is that many more attempts.
        on_unknown: what happens to a call whose process ended before it was known how it went:
            "ask" a human, "rerun" it, "fail", or a function that looks it up; see `OnUnknown`.
        agent: the agent that works on the calls in the function's place; see `AgentTool`.

    Raises:
        ToolDefinitionError: the parts do not make a tool.
    """

    name: str
    description: str
    parameters: FrozenDict[str, Any] = field(converter=_schema, repr=False)
    function: ToolFunction = field(repr=False)
    outputs_to_string: FrozenDict[str, Any] = field(default=None, converter=_wiring, repr=False)
    inputs_from_state: FrozenDict[str, str] = field(default=None, converter=_wiring, repr=False)
    outputs_to_state: FrozenDict[str, Any] = field(default=None, converter=_wiring, repr=False)
    timeout_s: float | None = field(default=None, kw_only=True, repr=False)
    retries: Retries = field(default=Retries(0), kw_only=True, repr=False, converter=retries_of)
    on_unknown: OnUnknown = field(default="ask", kw_only=True, repr=False)
    agent: AgentSpec[Any] | None = field(default=None, kw_only=True, eq=False, repr=False)
    signature: Signature = field(
        init=False, eq=False, repr=False, default=Factory(_signature, takes_self=True)
    )
    inputs: tuple[Input, ...] = field(
        init=False, eq=False, repr=False, default=Factory(_inputs, takes_self=True)
    )
    outputs: tuple[Output, ...] = field(
        init=False, eq=False, repr=False, default=Factory(_outputs, takes_self=True)
    )
    hidden: frozenset[str] = field(
        init=False, eq=False, repr=False, default=Factory(_hidden_of, takes_self=True)
    )
    readers: FrozenDict[str, Reader] = field(
        init=False, eq=False, repr=False, default=Factory(_readers, takes_self=True)
    )
    masked: frozenset[str] = field(
        init=False, eq=False, repr=False, default=Factory(_masked_of, takes_self=True)
    )
    text_rules: TextRule | FrozenDict[str, TextRule] = field(
        init=False, eq=False, repr=False, default=Factory(_text_rules, takes_self=True)
    )
    spec: ToolSpec = field(
        init=False, eq=False, repr=False, default=Factory(_visible, takes_self=True)
    )
    fits: Callable[[Mapping[str, object]], bool] = field(
        init=False, eq=False, repr=False, default=Factory(_fits, takes_self=True)
    )

    def accepts(self, state: Any) -> bool:
        """Whether the function can work on `state`: it wants none, this kind, or string keys."""
        wanted = self.signature.state
        return wanted is None or wanted.kind is State or isinstance(state, wanted.kind)


class ToolFor(Protocol[S_contra]):
    """A tool that can work on a state of this kind. A type checker compares it with the agent's."""

    @property
    def name(self) -> str:
        """What the model calls it."""
        ...

    def accepts(self, state: S_contra, /) -> bool:
        """Whether the tool's function can work on `state`."""
        ...


class FunctionTool(Tool, Generic[S_contra, F_co]):
    """A tool made of a function, which can still be called as if it were none."""

    __slots__ = ()

    if TYPE_CHECKING:
        __call__: F_co
    else:

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            """Call the function itself."""
            return self.function(*args, **kwargs)

    def accepts(self, state: S_contra) -> bool:
        """As `Tool.accepts`."""
        return super().accepts(state)


class Wires(TypedDict, total=False):
    """What may be said of a tool beyond its function; each as for `Tool`."""

    inputs_from_state: Mapping[str, str] | None
    outputs_to_state: Mapping[str, Mapping[str, Any]] | None
    outputs_to_string: Mapping[str, Any] | None
    timeout_s: float | None
    retries: Retries | int
    on_unknown: OnUnknown


class ToolOptions(Wires, total=False):
    """What may be said of a tool made of a function; each as for `Tool`."""

    name: str | None
    description: str | None


class ToolDecorator(Protocol):
    """What `tool` gives when it is called with options."""

    @overload
    def __call__(
        self, function: Callable[Concatenate[S, P], R], /
    ) -> FunctionTool[S, Callable[Concatenate[S, P], R]]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[A, S, P], R], /
    ) -> FunctionTool[S, Callable[..., R]]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[A, B, S, P], R], /
    ) -> FunctionTool[S, Callable[..., R]]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> FunctionTool[BaseState, Callable[P, R]]: ...


@overload
def create_tool_from_function(
    function: Callable[Concatenate[S, P], R],
    name: str | None = None,
    description: str | None = None,
    **wires: Unpack[Wires],
) -> FunctionTool[S, Callable[Concatenate[S, P], R]]: ...
@overload
def create_tool_from_function(
    function: Callable[Concatenate[A, S, P], R],
    name: str | None = None,
    description: str | None = None,
    **wires: Unpack[Wires],
) -> FunctionTool[S, Callable[..., R]]: ...
@overload
def create_tool_from_function(
    function: Callable[Concatenate[A, B, S, P], R],
    name: str | None = None,
    description: str | None = None,
    **wires: Unpack[Wires],
) -> FunctionTool[S, Callable[..., R]]: ...
@overload
def create_tool_from_function(
    function: Callable[P, R],
    name: str | None = None,
    description: str | None = None,
    **wires: Unpack[Wires],
) -> FunctionTool[BaseState, Callable[P, R]]: ...
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
    signature = signature_of(function)
    inputs = (*inputs_from(_wiring(wires.get("inputs_from_state"))), *signature.inputs)
    return FunctionTool(
        name or name_of(function),
        description_of(function) if description is None else description,
        parameters_of(function, hidden=_hidden(signature, inputs)),
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
def tool(**options: Unpack[ToolOptions]) -> ToolDecorator: ...
def tool(function: ToolFunction | None = None, /, **options: Unpack[ToolOptions]) -> Any:
    """Make a function a tool, bare or with the options of `create_tool_from_function`.

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


def by_name(tools: Iterable[Tool]) -> FrozenDict[str, Tool]:
    """The tools by name, in order. Raises ToolDefinitionError when two share a name."""
    listed = list(tools)
    named = FrozenDict({item.name: item for item in listed})
    if len(named) < len(listed):
        names = [item.name for item in listed]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ToolDefinitionError(f"several tools are called {', '.join(map(repr, twice))}")
    return named


def _hidden(signature: Signature, inputs: Iterable[Input]) -> frozenset[str]:
    state = () if signature.state is None else (signature.state.name,)
    return frozenset([*state, *signature.keys, *(item.parameter for item in inputs)])


def _require_function(function: object) -> None:
    if isinstance(function, str):
        raise ToolDefinitionError(f"@tool takes its options by name: @tool(name={function!r})")
    if isinstance(function, Tool):
        raise ToolDefinitionError(f"{function!r} is a tool already")
    if not callable(function):
        raise ToolDefinitionError(f"@tool stands above a function, got {function!r}")
