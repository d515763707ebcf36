"""The players of a simulated world: a model, tools and a human who do what dice say.

RULE: what a player does depends on the seed and on what is asked, never on when. A world of which a
part is left out thus stays the same in all other parts.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from attrs import evolve, field, frozen

from detent.adapters.testing.simulation.drawing import (
    arguments_for,
    dice,
    drawn,
    likely,
    result_for,
)
from detent.adapters.testing.simulation.nested_runs import agent_at
from detent.core.chat.messages import ChatMessage, ToolCall
from detent.core.chat.replies import ChatReply, FinishReason, ModelFailure, Usage
from detent.core.run.approval import Scope
from detent.core.run.effects import AskHuman, AskModel, RunTool
from detent.core.run.refs import CallRef
from detent.core.run.spec import AgentSpec
from detent.core.tools.idempotency import NEVER_RAN
from detent.ports.chat import ChatGeneratorError
from detent.ports.confirmation import ConfirmationUIResult

Results: TypeAlias = Callable[[Mapping[str, Any]], object] | Sequence[object]
"""What a tool gives in a simulation: a function of its arguments, or values to draw from."""


FINISHES: tuple[FinishReason, ...] = ("stop", "stop", "stop", "length", "refusal")
ODD_ANSWERS = (
    ConfirmationUIResult("perhaps"),
    ConfirmationUIResult("modify", None, {"nothing": ["known"]}),
    ConfirmationUIResult("modify"),
)
SCOPES: tuple[Scope | None, ...] = (None, None, "call", "arguments", "tool")
"""For what a human says that a yes counts; None is as the policy has it."""


@frozen
class Habits:
    """How often, from 0 to 1, players do what is not so nice."""

    model_fails: float = 0.1
    model_stops: float = 0.2
    call_is_odd: float = 0.1
    tool_raises: float = 0.2
    lookup_raises: float = 0.2
    human_is_odd: float = 0.2
    human_is_slow: float = 0.2


@frozen
class Players:
    """What everybody does in the world of one seed.

    `results` has what tools give, by name; else it is drawn by the type that they return. `without`
    has calls that the model does not make, by turn and place.
    """

    seed: int
    spec: AgentSpec[Any] = field(repr=False)
    results: Mapping[str, Results] = field(factory=dict, repr=False)
    habits: Habits = Habits()
    without: frozenset[CallRef] = frozenset()

    def reply(self, effect: AskModel) -> ChatReply:
        """What the model says.

        Raises:
            ChatGeneratorError: it says nothing.
        """
        rng = dice(self.seed, "model", *effect.path, effect.turn, effect.attempt)
        if likely(rng, self.habits.model_fails):
            raise ChatGeneratorError(ModelFailure("server", "the model is away", likely(rng, 0.5)))
        usage = Usage(rng.randint(1, 50), rng.randint(1, 20))
        tools = effect.tools
        if not tools or likely(rng, self.habits.model_stops):
            text = self._answer(rng, agent_at(self.spec, effect.path))
            return ChatReply(ChatMessage.from_assistant(text), rng.choice(FINISHES), usage, "dice")
        refs = [CallRef(effect.turn, place) for place in range(rng.choice((1, 1, 2, 2, 3, 4)))]
        made = [self._call(ref, effect) for ref in refs]
        without = frozenset[CallRef]() if effect.path else self.without
        calls = [call for ref, call in zip(refs, made, strict=True) if ref not in without]
        message = ChatMessage.from_assistant(None if calls else "enough", tool_calls=calls)
        return ChatReply(message, "tool_calls" if calls else "stop", usage, "dice")

    def _call(self, ref: CallRef, effect: AskModel) -> ToolCall:
        rng = dice(self.seed, "call", *effect.path, *ref)
        offered = rng.choice(effect.tools)
        call_id = f"c{ref.turn}.{ref.place}"
        call = ToolCall(offered.name, drawn(offered.parameters, rng), call_id)
        if not likely(rng, self.habits.call_is_odd):
            return call
        odd: tuple[dict[str, Any], ...] = (
            {"tool_name": "nobody"},
            {"arguments": {"nothing": ["known"]}},
            {"id": "same"},
            {"id": None},
        )
        return evolve(call, **rng.choice(odd))

    def _answer(self, rng: random.Random, spec: AgentSpec[Any]) -> str:
        """A text; where an answer of a type is wanted, mostly one."""
        if spec.output is None or likely(rng, self.habits.call_is_odd):
            return "enough"
        return json.dumps(drawn(spec.output.schema, rng))

    def result(self, effect: RunTool, arguments: Mapping[str, object], nth: int) -> object:
        """What a tool gives when it is run for the `nth` time for this call. It may raise."""
        rng = dice(self.seed, "tool", *effect.path, *effect.ref, nth)
        if likely(rng, self.habits.tool_raises):
            raise RuntimeError("the tool has failed")
        results = self.results.get(effect.tool.name)
        if results is None:
            return result_for(effect.tool, rng)
        return results(arguments) if callable(results) else rng.choice(results)

    def found(self, key: str, nth: int, done: Mapping[str, object]) -> object:
        """What looking up a call, for the `nth` time, finds among what has been done."""
        if likely(dice(self.seed, "lookup", key, nth), self.habits.lookup_raises):
            raise ConnectionError("nobody answers")
        return done.get(key, NEVER_RAN)

    def delay_s(self, effect: AskHuman, nth: int) -> float:
        """How long a human takes who is asked for the `nth` time about this call."""
        rng = dice(self.seed, "slow", *effect.path, *effect.ref, nth)
        return rng.choice((5.0, 15.0, 40.0)) if likely(rng, self.habits.human_is_slow) else 0.0

    def decision(self, effect: AskHuman, nth: int) -> ConfirmationUIResult:
        """What a human says who is asked for the `nth` time about this call."""
        rng = dice(self.seed, "human", *effect.path, *effect.ref, nth)
        if likely(rng, self.habits.human_is_odd):
            return rng.choice(ODD_ANSWERS)
        match rng.choice(("confirm", "confirm", "modify", "reject", "respond")):
            case "confirm":
                remember = dice(self.seed, "remember", *effect.path, *effect.ref, nth).choice(
                    SCOPES
                )
                return ConfirmationUIResult("confirm", remember=remember)
            case "modify":
                return ConfirmationUIResult("modify", "so", arguments_for(effect.tool, rng))
            case action:
                return ConfirmationUIResult(action, "said a human")
