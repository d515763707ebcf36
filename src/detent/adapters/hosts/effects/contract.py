"""What an agent must be for its effects to be steps of an engine, and what of it is held to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from detent.adapters.agent.assembly import AssembledTool, Assembly, inner_hooks_of
from detent.adapters.drivers.loading import loaded
from detent.adapters.hosts.effects.versions import versions_of
from detent.core.errors import AgentChangedError, DetentError
from detent.core.machine.due import budgets_of
from detent.core.run.effects import Policy
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec
from detent.core.storage.journal import run_to_json
from detent.core.storage.rules import rules_fingerprint
from detent.core.tools.version import hash_of
from detent.ports.journal import Journal, RunNotFoundError, is_concealing


class EffectsRefusedError(DetentError, ValueError):
    """An agent cannot be followed once more by an engine, or must not be: host it by legs."""


class StepTooLargeError(DetentError):
    """What has come of an effect is larger than what the engine takes of one."""


class OtherJournalError(DetentError):
    """The engine has given this worker a run that is not in its journal: others have another one.

    Or it has been deleted there while it went on. Nothing of the run is performed here. Whoever has
    its journal goes on with it.
    """

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"the journal of this worker does not have run {run_id!r} that the engine gives it: "
            "workers on one queue have one journal: give this one the same, or a queue of its own; "
            "if the run has been deleted, end its workflow in the engine"
        )


WHOSE = ("agent", "rules", "run_id", "nonce")
"""What an opening says, and each job after it, of whose it is."""


def require_same(run: Run[Any], job: Mapping[str, Any]) -> None:
    """Raise OtherJournalError unless a job is about this run."""
    if run.nonce != job["nonce"]:
        raise OtherJournalError(run.id)


def require_here(journal: Journal, spec: AgentSpec[Any], job: Mapping[str, Any]) -> None:
    """Raise OtherJournalError unless a journal has the run that a job is about."""
    try:
        at = loaded(journal, spec, job["run_id"], 1)
    except RunNotFoundError:
        raise OtherJournalError(job["run_id"]) from None
    require_same(at.run, job)


def require_followable(assemblies: Mapping[str, Assembly[Any]], journal: Journal) -> None:
    """Raise EffectsRefusedError where an agent has hooks, or asks people by a UI of its own.

    Or where the journal seals or redacts what is written to it: the engine is given the same.

    A hook may do what it likes each time that it is called, and an engine goes through a run once
    more whenever another worker takes it up. A UI would be asked by some worker, and who is at work
    there is for the engine to say: people are asked by whoever asks the host.
    """
    if is_concealing(journal):
        raise EffectsRefusedError(
            f"the {type(journal).__name__} conceals what runs say, and with mode='effects' the "
            "engine keeps all of it in its own database as it is: give the host a journal that "
            "conceals nothing, where the engine itself may read what is said, or host by "
            "mode='legs', where the engine is told the ids of runs alone"
        )
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
    inner = (tool for tool in assembly.spec.tools.values() if isinstance(tool, AssembledTool))
    return bool(assembly.rules.askers) or any(_asks(tool.assembly) for tool in inner)


def rules_of(spec: AgentSpec[Any]) -> str:
    """A digest of all by which a run is followed in an engine's history.

    That is `rules_fingerprint`, and what is owed at once: which tools are guarded, as a policy that
    was not asked when the history was written has no step in it, and which of them by one policy
    or budget, as they are judged one by one; and how many tools may run beside each other.
    """
    return hash_of(rules_fingerprint(spec), *_owed_by(spec))[:16]


def _owed_by(spec: AgentSpec[Any]) -> Iterator[object]:
    policies = list[Policy]()
    for name, policy in sorted(spec.guards.items()):
        if not any(policy is other for other in policies):
            policies.append(policy)
        place = next(n for n, other in enumerate(policies) if other is policy)
        yield (name, place, sorted(budgets_of(policy)))
    yield spec.limits.parallel_tool_calls
    yield {name: list(_owed_by(agent)) for name, agent in spec.agents.items()}


def require_rules(spec: AgentSpec[Any], agent: str, run_id: str, rules: object) -> None:
    """Raise AgentChangedError unless these are the rules of this agent."""
    if rules != (now := rules_of(spec)):
        raise AgentChangedError(
            f"run {run_id!r} was begun by an agent {agent!r} with the rules {rules!r:.40}, and "
            f"here it has {now!r}: go on with it by a worker that has the agent as it was"
        )


def new_run(spec: AgentSpec[Any], agent: str, run: Run[Any], length: int) -> dict[str, Any]:
    """What an engine is given when it begins with a run that has so many entries in the journal."""
    stored = run_to_json(spec, run)
    return {
        "agent": agent,
        "rules": rules_of(spec),
        "versions": versions_of(spec),
        "run_id": run.id,
        "nonce": run.nonce,
        "run": stored,
        "length": length,
        "events": [],
    }
