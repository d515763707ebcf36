"""The agents of a host, and a fingerprint of the rules by which their runs go on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from detent.adapters.agent.agent import Agent
from detent.adapters.agent.assembly import AssembledTool, Assembly
from detent.adapters.agent.warming import toolsets_in
from detent.core.storage.rules import rules_fingerprint
from detent.ports.approvers import wanted_by
from detent.ports.chat import labels_of_replies
from detent.ports.hosting import HostedAgent

NAMELESS = ""
"""What runs are kept under that an agent without a name has begun by itself."""


def with_nameless(agents: Mapping[str, Agent[Any, Any]]) -> dict[str, Agent[Any, Any]]:
    """The agents, the only one without a name by that as well.

    So a host goes on with what that agent has begun by itself, before anybody hosted it.
    """
    nameless = [agent for agent in agents.values() if agent.assembly.name == NAMELESS]
    return {NAMELESS: nameless[0], **agents} if len(nameless) == 1 else dict(agents)


def alias_in(given: Mapping[str, Agent[Any, Any]]) -> str:
    """By which name a host was given the agent that it takes runs without a name to be of.

    It is "" where nobody has left that open: there is none, or it was given without one.
    """
    nameless = with_nameless(given).get(NAMELESS)
    found = (name for name in sorted(given) if given[name] is nameless)
    return "" if NAMELESS in given else next(found, "")


def hosted_agents(agents: Mapping[str, Agent[Any, Any]]) -> list[HostedAgent]:
    """What a host says of its agents, of each by the name that it was given here."""
    nameless = agents.get(NAMELESS)
    named = [name for name in sorted(agents) if name and agents[name] is nameless]
    return [
        _hosted(name, agents[name].assembly, is_nameless=agents[name] is nameless)
        for name in sorted(agents)
        if name or not named
    ]


def _hosted(name: str, assembly: Assembly[Any], *, is_nameless: bool) -> HostedAgent:
    spec, labels = assembly.current_spec, tuple(sorted({*_labels(assembly)}))
    wanted = wanted_by(assembly.approvers)
    return HostedAgent(
        name, rules_fingerprint(spec), tuple(spec.tools), labels, wanted, is_nameless
    )


def _labels(assembly: Assembly[Any]) -> Iterator[str]:
    """What its model, its tools and their descriptions may bring, and all of agents among them.

    RULE: of a toolset also what it does not hold now. A server that takes its tools away would else
    take from a conversation what they have brought into it.
    """
    spec = assembly.current_spec
    for toolset in toolsets_in(assembly.tools):
        yield from toolset.labels
    yield from labels_of_replies(assembly.chat_generator)
    yield from spec.description_labels
    for tool in spec.tools.values():
        yield from tool.labels
        if isinstance(tool, AssembledTool):
            yield from _labels(tool.assembly)
