"""The promise of the observer port as a check: run it against an observer of your own.

def test_my_observer():
    check_observer(MyObserver)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from detent.core.chat.messages import ChatMessage, ToolCall
from detent.core.chat.replies import ChatReply, ModelFailure, Usage
from detent.core.machine.delegation import PARAMETERS
from detent.core.machine.step import start, step
from detent.core.run.approval import Allow, Ask, Binding, Confirmed, Verdict
from detent.core.run.events import (
    AnswerRejected,
    CallRewritten,
    CancelRequested,
    ClockTicked,
    Event,
    GrantRevoked,
    HappenedInside,
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
from detent.core.run.refs import CallRef
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec, Delegate
from detent.core.state.state import State
from detent.core.tools.result import ToolFault, ToolResult
from detent.core.tools.retries import Retries
from detent.core.tools.tool import Tool
from detent.core.values.frozen import FrozenDict
from detent.ports.observer import Observer


def check_observer(make: Callable[[], Observer]) -> None:
    """Check that an observer can be shown every kind of event: what it raises would end the run.

    Args:
        make: makes the observer under test, a new one for each run.

    Raises:
        AssertionError: it raises something.
    """
    spec = _spec()
    lives = (
        _an_eventful_life(spec),
        (ModelFailed(1, 1, FAILURE),),
        (DONE, AnswerRejected(1, "More.")),
    )
    for events in lives:
        run = start(spec, [ChatMessage.from_user("Go on.")], run_id=RUN_ID)
        observe = make()
        for event in events:
            before, run = run, step(spec, run, event)
            _show(observe, before, event, run)


def _show(observe: Observer, before: Run[Any], event: Event, after: Run[Any]) -> None:
    try:
        observe(before, event, after)
    except Exception as error:
        sentence = f"it takes every event, got {type(error).__name__}: {error}; with {event}"
        raise AssertionError(f"the observer breaks a law: {sentence}") from error


RUN_ID = "observed"
FAILURE = ModelFailure("connection", "nobody is there")
DONE = ModelReplied(1, 1, ChatReply(ChatMessage.from_assistant("Done.")))
PAY, LOOK, HELP = CallRef(1, 0), CallRef(1, 1), CallRef(1, 2)


def _spec() -> AgentSpec[State]:
    """Tools: one that a human is asked about, one that is tried again and looked up, an agent."""
    schema = {"type": "object"}
    pay = Tool("pay", "Pay.", schema, lambda: "paid")
    look = Tool(
        "look", "Look.", schema, lambda: "seen", retries=Retries(1), on_unknown=lambda *_: None
    )

    def ask(call: ToolCall, tool: Tool, run: Run[Any]) -> Verdict:
        return Ask("it costs money")

    helper = Delegate("help", "Help.", PARAMETERS, lambda task: task, agent=AgentSpec(State({})))
    tools = FrozenDict(pay=pay, look=look, help=helper)
    return AgentSpec(State({}), tools, policies=FrozenDict(pay=ask))


def _an_eventful_life(spec: AgentSpec[State]) -> tuple[Event, ...]:
    """A run to which everything happens: a failure, a pause, a crash, a decision, an end."""
    calls = [
        ToolCall("pay", {}, "a"),
        ToolCall("look", {}, "b"),
        ToolCall("help", {"task": "Help."}, "c"),
    ]
    reply = ChatReply(ChatMessage.from_assistant("So:", tool_calls=calls), usage=Usage(3, 4))
    bound = Binding(tool=spec.tools["pay"].version)
    return (
        ModelReplied(1, 1, reply),
        Judged(PAY, Ask("it costs money"), binding=bound),
        MessageReceived(ChatMessage.from_user("and quickly")),
        ToolStarted(LOOK, 1, at=0.0),
        ToolRaised(LOOK, 1, ToolFault("raised", "not yet", retryable=True), at=0.0, chance=0.5),
        ClockTicked(3600.0),
        ToolStarted(LOOK, 2),
        Resumed("another process"),
        ToolNeverRan(LOOK, 2),
        ToolStarted(LOOK, 3),
        ToolLost(LOOK, 3, "nobody knows"),
        ToolNeverRan(LOOK, 3),
        ToolStarted(LOOK, 4),
        ToolReturned(LOOK, 4, ToolResult("seen")),
        ToolStarted(HELP, 1),
        HappenedInside(HELP, "help", CancelRequested("no more help")),
        HumanDecided(PAY, bound.digest(PAY, "a"), Confirmed("tool"), by="Ada"),
        GrantRevoked(PAY, by="Ada"),
        CallRewritten(PAY, ToolCall("pay", {"n": 1}, "a")),
        Judged(PAY, Allow()),
        ToolStarted(PAY, 1),
        ToolReturned(PAY, 1, ToolResult("paid")),
        CancelRequested("enough"),
    )
