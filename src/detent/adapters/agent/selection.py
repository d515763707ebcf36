"""Which tools a run gets: what the agent's toolsets hold by now, or what the caller chose."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any

from attrs import evolve

from detent.adapters.tools.toolsets import Tools, Toolset, flat
from detent.core.run.spec import AgentSpec
from detent.core.state.typevars import S
from detent.core.tools.tool import Tool, by_name
from detent.core.values.frozen import FrozenDict


def choose_tools(
    spec: AgentSpec[S], tools: Tools[S] | Sequence[str] | None
) -> tuple[AgentSpec[S], tuple[str, ...] | None]:
    """The spec of a run with its own tools, or the names of those of the agent's that it gets."""
    if tools is None:
        return spec, None
    if isinstance(tools, str):
        raise TypeError(f"tools of a run are a list: tools=[{tools!r}], got {tools!r}")
    names = tuple(name for name in tools if isinstance(name, str))
    if not names:
        return _with_tools(spec, flat(tools)), None
    if len(names) < len(tools):
        raise TypeError(f"tools must be all Tool objects or all tool names, got {list(tools)!r}")
    if unknown := [name for name in names if name not in spec.tools]:
        raise ValueError(f"the agent has no tools {unknown}; it has {sorted(spec.tools)}")
    return spec, names


def has_toolset(tools: Tools[Any]) -> bool:
    """Whether a toolset is among the tools: what it holds may change."""
    return isinstance(tools, Toolset) or any(isinstance(item, Toolset) for item in tools)


def may_grow(tools: Tools[Any]) -> bool:
    """Whether a toolset of a kind of its own is among the tools: it may have others later."""
    listed = [tools] if isinstance(tools, Toolset) else tools
    return any(isinstance(item, Toolset) and type(item) is not Toolset for item in listed)


def refresh(spec: AgentSpec[S], tools: Tools[S]) -> AgentSpec[S]:
    """The spec with what the tools and toolsets hold by now."""
    listed = flat(tools)
    if len(listed) == len(spec.tools) and all(map(is_, listed, spec.tools.values())):
        return spec
    return _with_tools(spec, listed)


def _with_tools(spec: AgentSpec[S], tools: Sequence[Tool]) -> AgentSpec[S]:
    """The spec with these tools in place of its own; rules about others say nothing."""
    by_names = by_name(tools)
    rules = FrozenDict(
        {name: rule for name, rule in spec.policies.items() if name in {"*", *by_names}}
    )
    exits = spec.exit_conditions & {"text", *by_names}
    return evolve(spec, tools=by_names, policies=rules, exit_conditions=exits)
