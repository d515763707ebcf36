"""What an agent must be for its effects to be steps of an engine, and what of it is held to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from detent.adapters.agent.assembly import AssembledTool, Assembly, inner_hooks_of
from detent.adapters.hosts.effects.rules import rules_fingerprint
from detent.core.errors import AgentChangedError, DetentError
from detent.core.run.spec import AgentSpec
from detent.core.tools.version import hashed


class EffectsRefusedError(DetentError, ValueError):
    """An agent has parts that cannot be followed once more by an engine: host it by legs."""


def require_followable(assemblies: Mapping[str, Assembly[Any]]) -> None:
    """Raise EffectsRefusedError where an agent has hooks, or asks people by a UI of its own.

    A hook may do what it likes each time that it is called, and an engine goes through a run once
    more whenever another worker takes it up. A UI would be asked by some worker, and who is at work
    there is for the engine to say: people are asked by whoever asks the host.
    """
    for name, assembly in assemblies.items():
        if assembly.hooks or inner_hooks_of(assembly.spec):
            raise EffectsRefusedError(
                f"agent {name!r} has hooks, which an engine that follows a run once more would "
                "call again: leave them out, or host it with mode='legs'"
            )
        if _asks(assembly):
            raise EffectsRefusedError(
                f"agent {name!r} asks people by a UI of its own, and with mode='effects' they are "
                "asked by host.pending(): give its rules without one, or host it with mode='legs'"
            )


def _asks(assembly: Assembly[Any]) -> bool:
    inner = (one for one in assembly.spec.tools.values() if isinstance(one, AssembledTool))
    return bool(assembly.rules.askers) or any(_asks(one.assembly) for one in inner)


def rules_of(spec: AgentSpec[Any]) -> str:
    """A digest of all by which a run is followed in an engine's history.

    That is `rules_fingerprint`, and which tools are guarded: a policy that was not asked when the
    history was written has no step in it.
    """
    guarded = {name: sorted(agent.guards) for name, agent in spec.agents.items()}
    return hashed(rules_fingerprint(spec), sorted(spec.guards), guarded)[:16]


def require_rules(spec: AgentSpec[Any], agent: str, run_id: str, rules: object) -> None:
    """Raise AgentChangedError unless these are the rules of this agent."""
    if rules != (now := rules_of(spec)):
        raise AgentChangedError(
            f"run {run_id!r} was begun by an agent {agent!r} with the rules {rules!r:.40}, and "
            f"here it has {now!r}: go on with it by a worker that has the agent as it was"
        )
