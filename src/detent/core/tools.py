"""Tools: what a model may call, and how each is wired to the state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, overload

from attrs import field, frozen

from detent.core.errors import ToolDefinitionError
from detent.core.frozen import FrozenDict
from detent.core.messages import frozen_mapping
from detent.core.parameters import description_of, signature_of

ToolFunction: TypeAlias = Callable[..., Any]
Wiring: TypeAlias = Mapping[str, Mapping[str, object]]


@frozen
class ToolSpec:
    """A tool as the model sees it. `parameters` is a JSON Schema (2020-12) of type object."""

    name: str
    description: str
    parameters: FrozenDict[str, object] = field(converter=frozen_mapping)


def _optional_mapping(value: Mapping[str, object] | None) -> FrozenDict[str, Any]:
    return frozen_mapping(value or {})


@frozen
class Tool:
    """A function that a model may call.

    Args:
        name: what the model calls it.
        description: what it does, for the model.
        parameters: JSON Schema of its arguments. A parameter that `inputs_from_state` fills is taken
            out of what the model sees.
        function: what is called, with the arguments by name.
        outputs_to_string: how the result becomes text: ``{"source": key of a dict result, "handler":
            function}``, both optional. Without it a string stays, all else becomes JSON.
        inputs_from_state: ``{state key: parameter}``: values that come from the state, not the model.
        outputs_to_state: ``{state key: {"source": key of a dict result, "handler": function}}``: what
            is merged into the state; without a source the whole result.

    Raises:
        ToolDefinitionError: the parts do not fit together.
    """

    name: str
    description: str
    parameters: FrozenDict[str, Any] = field(converter=frozen_mapping, repr=False)
    function: ToolFunction = field(repr=False)
    outputs_to_string: FrozenDict[str, Any] = field(
        default=None, converter=_optional_mapping, kw_only=True, repr=False
    )
    inputs_from_state: FrozenDict[str, str] = field(
        default=None, converter=_optional_mapping, kw_only=True
    )
    outputs_to_state: FrozenDict[str, FrozenDict[str, Any]] = field(
        default=None, converter=_optional_mapping, kw_only=True
    )
    types: FrozenDict[str, Any] = field(
        default=None, converter=_optional_mapping, kw_only=True, repr=False
    )
    spec: ToolSpec = field(init=False, repr=False)

    @spec.default
    def _visible(self) -> ToolSpec:
        hidden = set(self.inputs_from_state.values())
        shown = dict(self.parameters)
        properties = shown.get("properties", {})
        shown["properties"] = {k: v for k, v in properties.items() if k not in hidden}
        if "required" in shown:
            shown["required"] = [name for name in shown["required"] if name not in hidden]
        return ToolSpec(self.name, self.description, shown)

    def __attrs_post_init__(self) -> None:
        if not self.name:
            raise ToolDefinitionError("a tool needs a name")
        if not callable(self.function):
            raise ToolDefinitionError(f"tool {self.name!r}: the function must be callable")
        if self.parameters.get("type") != "object":
            raise ToolDefinitionError(
                f"tool {self.name!r}: parameters must be a JSON Schema with 'type': 'object'"
            )
        for key, rule in self.outputs_to_state.items():
            if not isinstance(rule, Mapping) or rule.keys() - {"source", "handler"}:
                raise ToolDefinitionError(
                    f"tool {self.name!r}: outputs_to_state[{key!r}] must be a dict with 'source' and "
                    f"'handler', both optional, got {rule!r}"
                )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, as if it were no tool."""
        return self.function(*args, **kwargs)


def create_tool_from_function(
    function: ToolFunction,
    name: str | None = None,
    description: str | None = None,
    inputs_from_state: Mapping[str, str] | None = None,
    outputs_to_state: Wiring | None = None,
    outputs_to_string: Mapping[str, object] | None = None,
) -> Tool:
    """A tool made of a function: its name, its docstring and its typed parameters.

    Raises:
        ToolDefinitionError: a parameter is not annotated, or its type has no JSON Schema.
    """
    hidden = frozenset((inputs_from_state or {}).values())
    signature = signature_of(function, hidden=hidden)
    return Tool(
        name=name or str(getattr(function, "__name__", type(function).__name__)),
        description=description_of(function) if description is None else description,
        parameters=signature.parameters,
        function=function,
        inputs_from_state=inputs_from_state,
        outputs_to_state=outputs_to_state,
        outputs_to_string=outputs_to_string,
        types=signature.types,
    )


@overload
def tool(function: ToolFunction, /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    inputs_from_state: Mapping[str, str] | None = None,
    outputs_to_state: Wiring | None = None,
    outputs_to_string: Mapping[str, object] | None = None,
) -> Callable[[ToolFunction], Tool]: ...
def tool(
    function: ToolFunction | None = None, /, **options: Any
) -> Tool | Callable[[ToolFunction], Tool]:
    """Make a function a tool, bare or with the arguments of `create_tool_from_function`.

    >>> @tool
    ... def add(a: int, b: int) -> int:
    ...     "Add two numbers."
    ...     return a + b
    >>> add.name, add.description, add(1, 2)
    ('add', 'Add two numbers.', 3)
    """
    if function is not None:
        return create_tool_from_function(function)
    return lambda function: create_tool_from_function(function, **options)


def by_name(tools: Sequence[Tool]) -> FrozenDict[str, Tool]:
    """The tools by name, in order. Raises ToolDefinitionError when two share a name."""
    named = FrozenDict({item.name: item for item in tools})
    if len(named) < len(tools):
        names = [item.name for item in tools]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ToolDefinitionError(f"several tools are called {', '.join(map(repr, twice))}")
    return named
