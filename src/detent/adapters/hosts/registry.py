"""The agents of a host, and a fingerprint of the rules by which their runs go on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from detent.adapters.agent.agent import Agent
from detent.adapters.hosts.effects.rules import rules_fingerprint
from detent.ports.hosting import HostedAgent


def hosted_agents(agents: Mapping[str, Agent[Any, Any]]) -> list[HostedAgent]:
    """What a host says of its agents."""
    return [
        HostedAgent(name, rules_fingerprint(spec), tuple(spec.tools))
        for name, spec in ((name, agents[name].assembly.current_spec) for name in sorted(agents))
    ]
