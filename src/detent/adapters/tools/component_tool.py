"""Components: objects with a typed `run` method, and the tools that are made of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, Unpack

from detent.adapters.tools.decorator import Wires, create_tool_from_function
from detent.adapters.tools.docstrings import field_texts
from detent.adapters.tools.function_schema import description_of
from detent.core.errors import ToolDefinitionError
from detent.core.tools.signature import OUTPUT_TYPES, ToolFunction
from detent.core.tools.tool import Tool

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class ComponentDecorator:
    """Marks a class as a component: ``@component`` on the class, nothing else is needed."""

    def __call__(self, kind: type[T]) -> type[T]:
        """The class itself, once it is clear that it has a `run` method."""
        if not callable(getattr(kind, "run", None)):
            raise ToolDefinitionError(f"the component {kind.__name__} needs a method 'run'")
        return kind

    def output_types(self, **types: Any) -> Callable[[F], F]:
        """Says which keys the dict that `run` returns has, so that their wiring can be checked."""

        def declare(function: F) -> F:
            setattr(function, OUTPUT_TYPES, types)
            return function

        return declare


component = ComponentDecorator()


class ComponentTool(Tool):
    """A tool made of any object with a typed `run` method, sync or async.

    Its name and its description are those of the class, unless others are given; what the
    parameters mean is taken from the docstring of `run`. The options are those of `Tool`.

    Raises:
        ToolDefinitionError: the object has no `run`, or its parameters cannot be described; or it
            is an agent, of which `AgentTool` makes a tool.
    """

    __slots__ = ()

    def __init__(
        self,
        component: object,
        name: str | None = None,
        description: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        **wires: Unpack[Wires],
    ) -> None:
        if is_agent(component):
            raise ToolDefinitionError(
                f"{component!r:.80} is an agent: make a tool of it by AgentTool(agent, name=…, "
                "description=…)"
            )
        kind = type(component)
        run: ToolFunction | None = getattr(component, "run", None)
        if isinstance(component, type) or not callable(run):
            raise ToolDefinitionError(
                f"a component is an object with a method 'run', not {component!r}"
            )
        name = name or _snake_case(kind.__name__)
        if description is None:
            description = field_texts(kind).get("") or description_of(run) or name
        if parameters is None:
            parameters = create_tool_from_function(run, name, description, **wires).parameters
        super().__init__(name, description, parameters, run, **wires)

    def warm_up(self) -> object:
        """That of the component, if it has one. An agent calls it once, before its first run."""
        warm_up = getattr(getattr(self.function, "__self__", None), "warm_up", None)
        return warm_up() if callable(warm_up) else None


def is_agent(value: object) -> bool:
    """Whether something is an agent, as far as its members say so: those stand on tools."""
    return hasattr(value, "run") and hasattr(value, "chat_generator")


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
