"""The agents of a host, and a fingerprint of the rules by which their runs go on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from detent.adapters.agent.agent import Agent
from detent.adapters.hosts.effects.rules import rules_fingerprint
from detent.core.run.spec import AgentSpec, Delegate
from detent.ports.hosting import HostedAgent


def hosted_agents(agents: Mapping[str, Agent[Any, Any]]) -> list[HostedAgent]:
    """What a host says of its agents."""
    return [
        HostedAgent(
            name, rules_fingerprint(spec), tuple(spec.tools), tuple(sorted({*_labels(spec)}))
        )
        for name, spec in ((name, agents[name].assembly.current_spec) for name in sorted(agents))
    ]


def _labels(spec: AgentSpec[Any]) -> Iterator[str]:
    """What its tools may bring along, and those of the agents among them."""
    for tool in spec.tools.values():
        yield from tool.labels
        if isinstance(tool, Delegate):
            yield from _labels(tool.agent)
