"""Agents by hand: what runs where code runs an agent by itself, in a run that nobody looks at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from detent.adapters.agent.agent import Agent
from detent.adapters.agent.assembly import inner_hooks_of
from detent.adapters.testing.proofs.named_functions import (
    Found,
    is_installed,
    layers,
    own_function,
)
from detent.adapters.testing.proofs.roots import carried_by, of_agent, of_types
from detent.adapters.testing.simulation.nested_runs import all_agents
from detent.core.control.hooks import Hook
from detent.core.run.spec import AgentSpec, Delegate
from detent.core.tools.tool import Tool


def hooks_of(agent: Agent[Any, Any] | AgentSpec[Any]) -> dict[tuple[str, ...], Sequence[Hook]]:
    """The hooks of an agent, at (), and of the agents inside, by their names."""
    if isinstance(agent, AgentSpec):
        return {(): (), **inner_hooks_of(agent)}
    return {(): agent.assembly.hooks, **inner_hooks_of(agent.spec)}


def begun_by(tool: Tool) -> Iterator[Found]:
    """The functions by which the work of a tool begins; that of an agent begins with a model."""
    if not isinstance(tool, Delegate):
        yield from map(Found, layers(tool.function))
    yield from carried_by(tool)


def run_by_hand(agent: Agent[Any, Any] | AgentSpec[Any]) -> Iterator[Found]:
    """The functions that an agent may call: whatever its model wants, and whatever its rules say.

    These may stand for another policy than that of the run that is looked at.
    """
    hooks = hooks_of(agent)
    for path, spec in all_agents(agent if isinstance(agent, AgentSpec) else agent.spec):
        for tool in spec.tools.values():
            yield from begun_by(tool)
            # what attrs and pydantic have made of a class finds its fields by their names
            made = of_types(tool)
            yield from (one for one in made if not is_installed(own_function(one.function)))
        yield from (found for _, found in of_agent(spec, hooks.get(path, ())))
