"""Toolsets: groups of tools that are handed around as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar, cast

from detent.adapters.tools.component_tool import is_agent
from detent.core.state.state import BaseState
from detent.core.tools.tool import Tool, by_name

S = TypeVar("S", bound=BaseState)
S_contra = TypeVar("S_contra", contravariant=True)


class Toolset:
    """A group of tools, which an agent takes like a tool.

    Subclass it and override `__iter__` for tools that are only known later: an agent looks at the
    beginning of each run what there is, and calls `warm_up` once before. Override `labels` as well
    where tools with labels come and go.

    Raises:
        TypeError: `tools` is no list of tools and toolsets.
        ToolDefinitionError: two tools have the same name.
    """

    def __init__(self, tools: Iterable[Tool | Toolset] = ()) -> None:
        self._tools = list(by_name(flat(tools)).values())

    def __iter__(self) -> Iterator[Tool]:
        """The tools, in order."""
        return iter(self._tools)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def labels(self) -> tuple[str, ...]:
        """What its tools may bring along, also one that is not there now; see `Tool.labels`."""
        return tuple(sorted({label for tool in self for label in tool.labels}))

    def __bool__(self) -> bool:
        return True

    def __contains__(self, item: Tool | str) -> bool:
        """Whether a tool, or one of this name, is among them."""
        return any(item in (tool, tool.name) for tool in self)

    def __getitem__(self, index: int) -> Tool:
        return list(self)[index]

    def warm_up(self) -> None:
        """Connect, look up, load: whatever the tools are not known or usable without.

        An agent calls it once, before it first looks what there is. Here there is nothing to do.
        """

    def add(self, tools: Tool | Toolset) -> None:
        """Add a tool, or all of a toolset, for the runs that begin from now on."""
        self._tools = list(by_name([*self._tools, *flat([tools])]).values())


class ToolFor(Protocol[S_contra]):
    """A tool that can work on a state of this kind. A type checker compares it with the agent's."""

    @property
    def name(self) -> str:
        """What the model calls it."""
        ...

    def accepts(self, state: S_contra, /) -> bool:
        """Whether the tool's function can work on `state`."""
        ...


Tools: TypeAlias = "Sequence[ToolFor[S] | Toolset] | Toolset"
"""What an agent takes: tools and toolsets, mixed, or one toolset."""


def flat(tools: object) -> list[Tool]:
    """All tools in a list of tools and toolsets, or in a toolset.

    Raises:
        TypeError: there is something else in it, or it is no list.
    """
    if isinstance(tools, Tool | str | Mapping) or not isinstance(tools, Iterable):
        raise TypeError(
            f"tools come as a list of Tool and Toolset, or as a Toolset, got {tools!r}"
            f"{_advice(tools)}"
        )
    found: list[Tool] = []
    for item in cast(Iterable[object], tools):
        if isinstance(item, Tool):
            found.append(item)
        elif isinstance(item, Toolset):
            found += item
        else:
            raise TypeError(f"a list of tools holds Tool and Toolset, got {item!r}{_advice(item)}")
    return found


def _advice(value: Any) -> str:
    """What to do with what is no tool yet."""
    name = getattr(value, "__name__", "it")
    if isinstance(value, Tool):
        return "; put it into a list: tools=[…]"
    if isinstance(value, type):
        return f"; give an instance of the class: {name}(…)"
    if is_agent(value):
        return "; make a tool of the agent: AgentTool(agent, name=…, description=…)"
    if hasattr(value, "run"):
        return "; make a tool of it: ComponentTool(…)"
    if callable(value):
        return f"; make it a tool: @tool above its def, or tool({name})"
    if isinstance(value, Mapping):
        return "; make a tool with its schema: Tool(name, description, parameters, function)"
    return ""
