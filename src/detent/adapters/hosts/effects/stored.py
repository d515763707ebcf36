"""An effect as plain JSON, for a worker in another process, and what came of it, back.

An effect follows from its run by the agent's rules, and holds functions and policies of the agent,
which are no data. So what travels is the run, and which of its effects is meant; a worker that has
the same agent finds the same effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

from detent.core.errors import AgentChangedError, StoredDataError, UnstorableError
from detent.core.machine.due import due
from detent.core.run.effects import AskModel, Effect, EffectKey, RunTool
from detent.core.run.events import Event
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec
from detent.core.storage.journal import (
    FORMAT,
    event_from_json,
    event_to_json,
    require_format,
    run_from_json,
    run_to_json,
)
from detent.core.storage.rules import rules_fingerprint


def effect_to_json(spec: AgentSpec[Any], run: Run[Any], effect: Effect) -> dict[str, Any]:
    """What is owed to `run`, for another process that has the same agent, with the run as it is.

    Raises:
        UnstorableError: `run` is not owed it as it is, because a hook has changed it, or it is of
            another moment or run; or a value in the run cannot be written as JSON.
    """
    if not any(_is_same(effect, owed) for owed in due(spec, run)):
        raise UnstorableError(
            f"run {run.id!r} is not owed {effect.key.to_text()} as it is: take it from `due` of "
            "this run; what a hook has changed is performed where the hook is"
        )
    return {
        "detent": "effect",
        "format": FORMAT,
        "effect": effect.key.to_text(),
        "rules": rules_fingerprint(spec),
        "run": run_to_json(spec, run),
    }


def effect_from_json(spec: AgentSpec[Any], data: Mapping[str, object]) -> Effect:
    """The effect that `effect_to_json` gave, with the tools and the policies of this agent.

    Raises:
        AgentChangedError: the agent that wrote it has other rules. Nothing is to be performed.
        StoredDataError: it is no effect, or this agent cannot go on with its run.
    """
    match data:
        case {
            "detent": "effect",
            "format": version,
            "effect": str(text),
            "rules": str(rules),
            "run": Mapping() as stored,
        }:
            require_format(version)
        case _:
            raise StoredDataError("this is no effect, as `effect_to_json` gives it")
    if rules != (now := rules_fingerprint(spec)):
        raise AgentChangedError(
            f"effect {text:.100} was written by an agent with the rules {rules:.32}, and this one "
            f"has {now}: perform it with the agent as it was"
        )
    run = run_from_json(spec, stored)
    try:
        key = EffectKey.from_text(text)
    except ValueError as error:
        raise StoredDataError(f"damaged data: {error}") from error
    found = next((effect for effect in due(spec, run) if effect.key == key), None)
    if found is None:
        raise StoredDataError(f"damaged data: run {run.id!r} is not owed {text:.100}")
    return found


def report_to_json(spec: AgentSpec[Any], effect: Effect, event: Event | None) -> dict[str, Any]:
    """What came of an effect; None says that nobody there can perform it.

    Raises:
        UnstorableError: a value in it cannot be written as JSON.
    """
    event_data = None if event is None else event_to_json(_agent_of(spec, effect), event)
    return {"detent": "report", "effect": effect.key.to_text(), "event": event_data}


def report_from_json(
    spec: AgentSpec[Any], effect: Effect, data: Mapping[str, object]
) -> Event | None:
    """What came of `effect`, for `Session.land`.

    Raises:
        StoredDataError: it is no report, or one about another effect, or names what this agent
            does not have.
    """
    match data:
        case {"detent": "report", "effect": str(text), "event": None | Mapping() as event}:
            pass
        case _:
            raise StoredDataError("this is no report, as `report_to_json` gives it")
    if text != effect.key.to_text():
        raise StoredDataError(f"this is a report on {text:.100}, not on {effect.key.to_text()}")
    return None if event is None else event_from_json(_agent_of(spec, effect), event)


def _is_same(effect: Effect, owed: Effect) -> bool:
    """Whether nobody has changed it. What the run has come to since it was taken is no change."""
    match effect:
        case AskModel():
            return effect == owed
        case RunTool(call=call):
            return effect.key == owed.key and isinstance(owed, RunTool) and call == owed.call
        case _:
            return effect.key == owed.key


def _agent_of(spec: AgentSpec[Any], effect: Effect) -> AgentSpec[Any]:
    """Whose effect it is: an event inside a run speaks of that agent's state and handlers."""
    return reduce(lambda agent, at: agent.agents[at.tool_name], effect.path, spec)
