"""Holds: effects that a driver does not perform, so that it returns the run as it stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from detent.core.codec.own_values import dump, load
from detent.core.errors import StoredDataError
from detent.core.run.effects import (
    AskHuman,
    AskModel,
    Effect,
    EffectKey,
    Judge,
    Reconcile,
    RunTool,
    WaitUntil,
)
from detent.core.run.run import Run
from detent.core.tools.masking import masked

CHAT_GENERATOR = "chat_generator"
TOOL_INVOKER = "tool_invoker"
DONE_WITH_A_CALL: Mapping[type[Effect], str] = {
    RunTool: "run",
    Judge: "ask the policy about",
    AskHuman: "ask a human about",
    Reconcile: "look up what became of",
}
"""What is to be done with a call, in the words of `describe_effects`."""

Hold: TypeAlias = Callable[[Run[Any], Effect], bool]
"""Says whether an effect that is owed must wait. Every breakpoint is one, and any function."""


def place_of(effect: Effect) -> EffectKey:
    """Where in a run an effect stands, whatever the attempt: a resumed run passes it once."""
    return effect.key._replace(attempt=0)


def key_from_json(value: object) -> EffectKey:
    """A place in a run, as `AgentSnapshot.to_dict` writes it.

    Raises:
        StoredDataError: it is none.
    """
    if isinstance(value, list) and len(value) == len(EffectKey._fields) - 1:
        value = [*value, []]  # it stands in the outermost run
    try:
        return load(value, EffectKey)
    except StoredDataError as error:
        raise StoredDataError(f"damaged data: 'held' has what is no place; {error}") from error


def key_to_json(key: EffectKey) -> list[object]:
    """What `key_from_json` reads."""
    *parts, path = dump(key)
    return [*parts, path] if path else parts


def describe_effects(effects: Sequence[Effect]) -> str:
    """What is about to happen, for people: ``ask the model (turn 1)``, ``run pay({'n': 1})``."""
    return ", ".join(
        "".join(f"{agent.tool_name}: " for agent in effect.path) + _description(effect)
        for effect in effects
    )


def _description(effect: Effect) -> str:
    match effect:
        case AskModel(turn):
            return f"ask the model (turn {turn})"
        case WaitUntil():
            return f"wait until {effect.at}"
        case _:
            arguments = masked(effect.call.arguments, effect.tool.masked)
            return f"{DONE_WITH_A_CALL[type(effect)]} {effect.tool.name}({arguments})"
