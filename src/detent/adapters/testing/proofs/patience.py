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
from detent.core.values.frozen import FrozenDict


def unwearied(spec: AgentSpec[Any]) -> AgentSpec[Any]:
    """The same agent, and those inside, that asks people however often they have refused."""
    tools = {
        name: _delegate(tool) if isinstance(tool, Delegate) else tool
        for name, tool in spec.tools.items()
    }
    limits = evolve(spec.limits, max_rejections=maxsize, max_tool_rejections=maxsize)
    return evolve(spec, tools=FrozenDict(tools), limits=limits)


def _delegate(tool: Delegate) -> Delegate:
    """The same tool, whose agent asks so. It need not know who works for it: no tool is run."""
    parts = {str(part.alias): getattr(tool, part.name) for part in fields(Delegate) if part.init}
    return Delegate(**{**parts, "agent": unwearied(tool.agent)})
