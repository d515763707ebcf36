"""What can happen next to a run, in a small world: all of it, one event for each kind of outcome.

RULE: the events depend on the run alone, so that equal runs have equal futures.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, get_args

from attrs import evolve, field, frozen

from detent.adapters.drivers.judging import judge
from detent.adapters.system.threads_and_loops import in_background
from detent.adapters.testing.proofs.possible_values import written_answer
from detent.adapters.testing.simulation.drawing import arguments_for, dice, drawn, result_for
from detent.adapters.testing.simulation.nested_runs import agent_at, slots_in
from detent.core.chat.messages import ChatMessage, ToolCall
from detent.core.chat.replies import ChatReply, ModelFailure, Usage
from detent.core.control.hooks import Hook, ModelAnswer, ToolAnswer, incoming, outgoing, sent_back
from detent.core.machine.binding import arguments_digest
from detent.core.machine.delegation import nested_run, wrap_event
from detent.core.machine.due import due
from detent.core.run.approval import SCOPES, Answered, Confirmed, Decision, Modified, Rejected
from detent.core.run.effects import AskHuman, AskModel, Effect, Judge, Reconcile, RunTool, WaitUntil
from detent.core.run.events import (
    CallRewritten,
    CancelRequested,
    ClockTicked,
    Event,
    HumanDecided,
    Judged,
    ModelFailed,
    ModelReplied,
    Resumed,
    ToolNeverRan,
    ToolRaised,
    ToolReturned,
    ToolStarted,
)
from detent.core.run.refs import Path
from detent.core.run.run import AwaitingDecision, Ready, Run, Running, Slot
from detent.core.run.spec import AgentSpec
from detent.core.tools.invocation import Invocation
from detent.core.tools.masking import masked, with_secrets_marked
from detent.core.tools.result import ToolFault
from detent.core.tools.tool import ToolSpec

NOW = 0.0
"""It is always now, except when a time is waited for."""
USAGE = Usage(100, 100)
ANSWERS = (*get_args(ModelAnswer), *get_args(ToolAnswer))
"""The events that hooks see on their way in."""
FAILURES = (
    ModelFailure("server", "the model is away", retryable=True),
    ModelFailure("bad_request", "the model does not understand"),
)
FAULTS = (
    ToolFault("raised", "it may work later", retryable=True),
    ToolFault("raised", "it will never work"),
)


@frozen
class Small:
    """A small world for an agent.

    `calls` is how many calls the model makes at once, at most. `arguments` and `results` have, by
    tool name, what each tool may be called with and what it may give. Each reply has the same
    `usage`. `hooks` has those of the agent, at (), and of the agents inside, by their names. People
    may say of a yes that it counts for further calls where they may `remember`.
    """

    spec: AgentSpec[Any] = field(repr=False)
    calls: int
    arguments: Mapping[str, Sequence[Mapping[str, Any]]] = field(factory=dict)
    results: Mapping[str, Sequence[object]] = field(factory=dict)
    usage: Usage = USAGE
    hooks: Mapping[tuple[str, ...], Sequence[Hook]] = field(factory=dict, repr=False)
    remember: bool = False
    claimed: frozenset[str] = frozenset()
    price: Callable[[ChatReply], float] | None = field(default=None, repr=False)

    def events(self, run: Run[Any]) -> Iterator[Event]:
        """All that can happen next.

        Raises:
            HookError: a hook has failed.
            ValueError: a hook makes something else, each time, of what it has changed itself, or of
                a call that something is claimed of, where no policy has it stand in the run.
        """
        if (back := self._sent_back(run)) is not None:
            yield back
            return
        for effect in due(self.spec, run):
            agent = evolve(
                self, spec=agent_at(self.spec, effect.path), price=self._price_at(effect.path)
            )
            hooks = self.hooks.get(tuple(at.tool_name for at in effect.path), ())
            for event in agent.hooked(hooks, nested_run(run, effect.path), effect):
                yield wrap_event(effect.path, event)
        if run.outcome is not None:
            return
        yield CancelRequested("somebody wants it")
        if all(self._may_be_cut_off(path, slot) for path, slot in slots_in(run)):
            yield Resumed("another process", NOW)

    def _price_at(self, path: Path) -> Callable[[ChatReply], float] | None:
        """What a reply costs at an agent inside: one without a price has that around it."""
        price = self.spec.limits.price
        for depth in range(1, len(path) + 1):
            price = agent_at(self.spec, path[:depth]).limits.price or price
        return price

    def is_sent_back(self, run: Run[Any]) -> bool:
        """Whether a hook does not let the run end as it is about to."""
        return self._sent_back(run) is not None

    def _sent_back(self, run: Run[Any]) -> Event | None:
        return sent_back(self.hooks.get((), ()), run)

    def _may_be_cut_off(self, path: Path, slot: Slot) -> bool:
        """Whether the process may die in a call: not again once a human has had it begun anew."""
        if not isinstance(slot.status, Running):
            return True
        agent = agent_at(self.spec, path)
        return slot.status.attempt <= agent.tools[slot.call.tool_name].retries.times + 1

    def hooked(self, hooks: Sequence[Hook], run: Run[Any], effect: Effect) -> Iterator[Event]:
        """All that can come of an effect, as the hooks around it let it out and in."""
        is_begun = isinstance(effect, RunTool) and not isinstance(
            run.slots[effect.ref.place].status, Ready
        )
        sent = effect if is_begun or not hooks else outgoing(hooks, effect, run)
        if not isinstance(sent, Effect):
            if isinstance(sent, CallRewritten) and isinstance(effect, RunTool):
                _require_settled(hooks, effect, sent.call, run)
            yield sent
            return
        if self.claimed and isinstance(sent, RunTool) and isinstance(effect, RunTool):
            self._require_recorded(effect, sent)
        for event in self.outcomes(run, sent):
            yield incoming(hooks, sent, event, run) if isinstance(event, ANSWERS) else event

    def _require_recorded(self, effect: RunTool, sent: RunTool) -> None:
        """Refuse what claims would not see: a run has a call that no policy guards as it was made.

        To judge it as it was sent would be of no use: policies look at the run, and see another.
        """
        is_other = sent.tool.function is not effect.tool.function
        digests = {arguments_digest(one.call, effect.tool) for one in (effect, sent)}
        if not is_other and (effect.tool.name not in self.claimed or len(digests) == 1):
            return
        first, then = (masked(one.call.arguments, one.tool.masked) for one in (effect, sent))
        raise ValueError(
            f"the hooks make {then} for {sent.tool.name!r} of a call of {effect.tool.name!r} with "
            f"{first}, which no policy guards: the run does not say so, and nothing is proved of "
            "it; guard the tool, if by NeverAskPolicy()"
        )

    def outcomes(self, run: Run[Any], effect: Effect) -> Iterator[Event]:
        """All that can come of an effect of this very run: a case for each kind."""
        match effect:
            case AskModel():
                yield from self._replies(effect)
            case RunTool():
                yield from self._runs(run, effect)
            case Reconcile(ref, attempt):
                yield ToolNeverRan(ref, attempt, NOW)
                yield from self._returns(effect)
            case Judge():
                judgement = judge(effect)
                yield (
                    judgement
                    if isinstance(judgement, Judged)
                    else in_background(judgement).result()
                )
            case AskHuman():
                yield from self._decisions(run, effect)
            case WaitUntil(at=at):
                yield ClockTicked(at)

    def _replies(self, effect: AskModel) -> Iterator[Event]:
        turn, attempt = effect.turn, effect.attempt
        for failure in FAILURES:
            yield ModelFailed(turn, attempt, failure, NOW)
        calls = [
            ToolCall(offered.name, arguments)
            for offered in effect.tools
            for arguments in self._arguments_for(offered, effect)
        ]
        for count in range(1, self.calls + 1):
            # in each order: policies see which calls stand before and behind their own
            for chosen in product(calls, repeat=count):
                yield self._replied(effect, _calling(turn, chosen))
        yield self._replied(effect, _calling(turn, [ToolCall("nobody")]))
        for text in self._texts(effect):
            yield self._replied(effect, ChatMessage.from_assistant(text))

    def _arguments_for(self, offered: ToolSpec, effect: AskModel) -> Sequence[Mapping[str, Any]]:
        name, output = offered.name, self.spec.output
        if output is not None and name == output.name and (values := self._answers(effect)):
            return [written_answer(output, value) for value in values]
        return self.arguments.get(name) or [drawn(offered.parameters, dice("arguments", name))]

    def _texts(self, effect: AskModel) -> Iterator[str]:
        """What the model may say without a call: also an answer, where one of a type is wanted."""
        output, values = self.spec.output, self._answers(effect)
        if output is None:
            yield from map(str, values or ["enough"])
            return
        yield "enough"
        made = [written_answer(output, value) for value in values]
        yield from map(json.dumps, made or [drawn(output.schema, dice("answer"))])

    def _answers(self, effect: AskModel) -> Sequence[object]:
        """What the agent that asks may answer, as far as somebody says so."""
        return self.results.get(effect.path[-1].tool_name, ()) if effect.path else ()

    def _replied(self, effect: AskModel, message: ChatMessage) -> Event:
        message = with_secrets_marked(message, effect.secrets())
        reply = ChatReply(message, "tool_calls" if message.tool_calls else "stop", self.usage)
        price = self.price or self.spec.limits.price
        cost = 0.0 if price is None else price(reply)
        return ModelReplied(effect.turn, effect.attempt, reply, cost=cost)

    def _runs(self, run: Run[Any], effect: RunTool) -> Iterator[Event]:
        ref, attempt = effect.ref, effect.attempt
        if isinstance(run.slots[ref.place].status, Ready):
            yield ToolStarted(ref, attempt, NOW)
            return
        yield from self._returns(effect)
        yield ToolRaised(
            ref, attempt, ToolFault("raised", "it may work later", retryable=True), NOW
        )
        yield ToolRaised(ref, attempt, ToolFault("raised", "it will never work"), NOW)

    def _returns(self, effect: RunTool | Reconcile) -> Iterator[Event]:
        tool = effect.tool
        for value in self.results.get(tool.name) or [result_for(tool, dice("result", tool.name))]:
            invocation = Invocation(tool, effect.call, effect.state, effect.idempotency_key)
            yield ToolReturned(effect.ref, effect.attempt, invocation.result(value))

    def _decisions(self, run: Run[Any], effect: AskHuman) -> Iterator[Event]:
        ref = effect.ref
        other = arguments_for(effect.tool, dice("modified", effect.tool.name))
        widest = SCOPES.index(effect.ask.answers.remember) if self.remember else 0
        decisions: list[Decision] = [Confirmed(), *map(Confirmed, SCOPES[1 : widest + 1])]
        if effect.ask.remember != "call":  # else that is what a plain yes counts for
            decisions.append(Confirmed("call"))
        decisions += [Modified(other), Rejected(), Answered("a human says so")]
        for decision in decisions:
            yield HumanDecided(ref, effect.digest, decision)
        for slot in run.slots:
            if isinstance(slot.status, AwaitingDecision) and slot.ref != ref:
                yield HumanDecided(ref, slot.status.digest, Confirmed())
        yield HumanDecided(ref, "forged", Confirmed())


def _require_settled(hooks: Sequence[Hook], effect: RunTool, call: ToolCall, run: Run[Any]) -> None:
    """Refuse hooks that would change a call again and again: there is no end of such calls."""
    again = outgoing(hooks, evolve(effect, call=call), run)
    if not isinstance(again, CallRewritten):
        return
    first, then = (masked(one.arguments, effect.tool.masked) for one in (call, again.call))
    raise ValueError(
        f"the hooks make {first} of a call of {call.tool_name!r}, and {then} of that: what they "
        "have changed they must leave as it is"
    )


def _calling(turn: int, calls: Sequence[ToolCall]) -> ChatMessage:
    named = [evolve(call, id=f"c{turn}.{place}") for place, call in enumerate(calls)]
    return ChatMessage.from_assistant(tool_calls=named)
