"""Patience: agents that ask people however often they have refused.

Where runs that differ in past decisions alone count as one, nothing may go by these, and the core
counts rejections: after some it tells the model at once. Whoever is asked without end can say all
that it then says itself, so that what holds of such an agent holds of the one that counts.
"""

from __future__ import annotations

from sys import maxsize
from typing import Any

from attrs import evolve, fields

from detent.core.run.spec import AgentSpec, Delegate
from detent.core.tools.tool import Tool
from detent.core.values.frozen import FrozenDict


def unwearied(spec: AgentSpec[Any]) -> AgentSpec[Any]:
    """The same agent, and those inside, that asks people however often they have refused."""
    limits = evolve(spec.limits, max_rejections=maxsize, max_tool_rejections=maxsize)
    tools = {name: _patient(tool) for name, tool in spec.tools.items()}
    return evolve(spec, tools=FrozenDict(tools), limits=limits)


def _patient(tool: Tool) -> Tool:
    """The same tool; whose agent asks so, where it is one, and need not know who works for it."""
    if not isinstance(tool, Delegate):
        return tool
    own = [part for part in fields(Delegate) if part.init]
    parts: dict[str, Any] = {str(part.alias): getattr(tool, part.name) for part in own}
    parts["agent"] = unwearied(tool.agent)
    return Delegate(**parts)
