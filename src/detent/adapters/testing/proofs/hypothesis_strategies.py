"""Hypothesis strategies: agents, scripts that fit an agent, and what may befall its runs."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Generic, TypeAlias

from attrs import frozen

try:
    from hypothesis import given
    from hypothesis import strategies as st
    from hypothesis.strategies import DrawFn, SearchStrategy
except ModuleNotFoundError as error:
    text = "given_run, agents, scripts and schedules need hypothesis: pip install hypothesis"
    raise ImportError(text, name=error.name) from error

from detent.adapters.agent.agent import Agent
from detent.adapters.system.threads_and_loops import in_background
from detent.adapters.testing.simulation.drawing import arguments_for, drawn, likely, result_for
from detent.adapters.testing.simulation.generated_agents import stranger
from detent.core.chat.messages import ChatMessage, ToolCall
from detent.core.chat.replies import ChatReply, ModelFailure, Usage
from detent.core.machine.delegation import nested_run, wrap_event
from detent.core.machine.due import due
from detent.core.machine.step import start, step
from detent.core.run.approval import Answered, Confirmed, Decision, Modified, Rejected, Verdict
from detent.core.run.effects import AskHuman, AskModel, Effect, Judge, Reconcile, RunTool, WaitUntil
from detent.core.run.events import (
    AnswerRejected,
    CallRewritten,
    CancelRequested,
    ClockTicked,
    Event,
    GrantRevoked,
    HumanDecided,
    Judged,
    MessageReceived,
    ModelFailed,
    ModelReplied,
    Resumed,
    ToolLost,
    ToolNeverRan,
    ToolRaised,
    ToolReturned,
    ToolStarted,
)
from detent.core.run.run import Ready, Run, has_no_answer
from detent.core.run.spec import AgentSpec
from detent.core.state.state import State
from detent.core.state.typevars import S
from detent.core.tools.result import ToolFault, result_of
from detent.core.tools.tool import Tool

Of: TypeAlias = Agent[S] | AgentSpec[S]

HELLO = (ChatMessage.from_user("Please do it."),)


@frozen
class Schedule(Generic[S]):
    """What befalls a run, in order: each event is one that can come in a run as it is then."""

    spec: AgentSpec[S]
    start: Run[S]
    events: tuple[Event, ...] = ()

    @property
    def run(self) -> Run[S]:
        """The run after all of it."""
        return reduce(lambda run, event: step(self.spec, run, event), self.events, self.start)


def agents() -> SearchStrategy[AgentSpec[State]]:
    """The rules of agents that nobody has written: tools, policies, limits, retries, exits."""
    return st.integers(0, 10_000).map(stranger)


@st.composite
def scripts(
    draw: DrawFn, of: Of[Any], *, turns_max: int = 4, calls_max: int = 3
) -> tuple[ChatMessage, ...]:
    """What a model may say to this agent: turns of calls with valid arguments, then an answer.

    The lines are for a `ScriptedChatGenerator`. The agent may stop before the last one.
    """
    rng, spec = draw(st.randoms(use_true_random=False)), _spec(of)
    turns = draw(st.integers(0, turns_max if spec.tools else 0))
    called = [_calling(spec, rng, rng.randint(1, calls_max)) for _ in range(turns)]
    return (*called, ChatMessage.from_assistant(draw(st.text(max_size=20))))


@st.composite
def schedules(draw: DrawFn, of: Of[S], *, events_max: int = 30) -> Schedule[S]:
    """What may befall a run of this agent: answers in any order, failures, decisions, the end.

    Among it is what answers nothing: events that come twice, or late.
    """
    rng, spec = draw(st.randoms(use_true_random=False)), _spec(of)
    begun = run = start(spec, HELLO, run_id="drawn")
    events: list[Event] = []
    for _ in range(draw(st.integers(0, events_max))):
        owed = due(spec, run)
        if not owed and not likely(rng, 0.2):
            break
        stray = not owed or likely(rng, 0.15)
        event = _stray(run, events, rng) if stray else _answer(run, rng.choice(owed), rng)
        events.append(event)
        run = step(spec, run, event)
    return Schedule(spec, begun, tuple(events))


def given_run(of: Of[Any], *, events_max: int = 30) -> Callable[[Callable[..., None]], Any]:
    """As ``@given``, with a run of this agent to which anything has happened that may.

    The test gets it as its last positional argument.
    """
    return given(schedules(of, events_max=events_max).map(lambda schedule: schedule.run))


def _spec(of: Of[S]) -> AgentSpec[S]:
    return of.spec if isinstance(of, Agent) else of


def _calling(spec: AgentSpec[Any], rng: random.Random, count: int) -> ChatMessage:
    return ChatMessage.from_assistant(tool_calls=[_call(spec, rng) for _ in range(count)])


def _call(spec: AgentSpec[Any], rng: random.Random) -> ToolCall:
    tool = rng.choice(list(spec.tools.values()))
    return ToolCall(tool.name, arguments_for(tool, rng))


def _answer(run: Run[Any], effect: Effect, rng: random.Random) -> Event:
    """One of the events that `effect` may lead to."""
    return wrap_event(effect.path, _bare_answer(nested_run(run, effect.path), effect, rng))


def _bare_answer(run: Run[Any], effect: Effect, rng: random.Random) -> Event:
    match effect:
        case AskModel():
            return _of_model(effect, rng)
        case RunTool(ref, attempt, call, tool):
            slot = run.slots[ref.place]
            if not isinstance(slot.status, Ready):
                is_lost = likely(rng, 0.1)
                return ToolLost(ref, attempt, "lost", 0.0) if is_lost else _of_tool(effect, rng)
            if slot.clearance is not None and likely(rng, 0.1):  # as a hook does
                return CallRewritten(ref, call)
            return ToolStarted(ref, attempt, 0.0 if tool.timeout_s or slot.clearance else None)
        case Reconcile(ref, attempt):
            never_ran = ToolNeverRan(ref, attempt, 0.0)
            return never_ran if likely(rng, 0.5) else _of_tool(effect, rng)
        case Judge(ref, call, tool, policy):
            judgement = policy(call, tool, run)
            verdict = (
                judgement if isinstance(judgement, Verdict) else in_background(judgement).result()
            )
            return Judged(ref, verdict, 0.0, effect.binding)
        case AskHuman(ref, _, tool, digest):
            return HumanDecided(ref, digest, _decision(tool, rng), by="Ada")
        case WaitUntil():
            return ClockTicked(effect.at, rng.random())


def _of_model(effect: AskModel, rng: random.Random) -> Event:
    turn, attempt = effect.turn, effect.attempt
    if likely(rng, 0.1):
        failure = ModelFailure("overloaded", "too much to do", retryable=likely(rng, 0.5))
        return ModelFailed(turn, attempt, failure, at=0.0, chance=rng.random())
    count = rng.randint(0, 3) if effect.tools else 0
    calls = [
        ToolCall(tool.name, drawn(tool.parameters, rng))
        for tool in rng.choices(effect.tools, k=count)
    ]
    message = ChatMessage.from_assistant(None if calls else "Done.", tool_calls=calls)
    return ModelReplied(turn, attempt, ChatReply(message, usage=Usage(rng.randint(0, 9), 1)))


def _of_tool(effect: RunTool | Reconcile, rng: random.Random) -> Event:
    if isinstance(effect, RunTool) and likely(rng, 0.2):
        fault = ToolFault("raised", "it failed", retryable=likely(rng, 0.5))
        return ToolRaised(effect.ref, effect.attempt, fault, 0.0, rng.random())
    result = result_of(effect.tool, result_for(effect.tool, rng))
    return ToolReturned(effect.ref, effect.attempt, result)


def _decision(tool: Tool, rng: random.Random) -> Decision:
    decisions: list[Decision] = [
        *(Confirmed(), Rejected(), Rejected("no"), Answered("done by hand")),
        Modified(arguments_for(tool, rng)),
    ]
    return rng.choice(decisions)


def _stray(run: Run[Any], events: Sequence[Event], rng: random.Random) -> Event:
    """What comes without being owed, or after the end: or again what has come before."""
    if has_no_answer(run):
        return Resumed(f"process {len(events)}")
    if run.outcome is not None:
        return AnswerRejected(run.turn, "Are you sure?")
    if run.grants and likely(rng, 0.3):
        return GrantRevoked(rng.choice(run.grants).ref)
    if likely(rng, 0.5):
        return Resumed(f"process {len(events)}")
    more = MessageReceived(ChatMessage.from_user("and more"))
    return rng.choice([CancelRequested("enough"), more, *events])
