"""Breakpoints: which effects they hold, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from detent import (
    AgentResult,
    BreakpointException,
    ChatMessage,
    State,
    Tool,
    ToolCall,
)
from detent.adapters.control.breakpoints import (
    AgentBreakpoint,
    Breakpoint,
    BreakPoints,
    ToolBreakpoint,
    break_every_step,
    holds_of,
    rule_to_json,
)
from detent.approvals import Ask
from detent.core.control.holds import describe_effects
from detent.core.storage.snapshot import snapshot_of
from detent.core.tools.tool import by_name
from detent.machine import (
    AgentSpec,
    AskHuman,
    CallRef,
    Effect,
    Judge,
    ModelReplied,
    Reconcile,
    Run,
    ToolFault,
    ToolRaised,
    ToolStarted,
    WaitUntil,
    due,
    start,
    step,
)
from detent.models import ChatReply

TOOLS = by_name([Tool(name, "", {"type": "object"}, print) for name in ("note", "pay")])
SPEC = AgentSpec(State({}), TOOLS)
START = start(SPEC, [ChatMessage.from_user("hello")], run_id="r")


def calling(*names: str) -> Run[State]:
    """A run whose model has called these tools."""
    calls = [ToolCall(name, id=str(place)) for place, name in enumerate(names)]
    reply = ChatReply(ChatMessage.from_assistant(tool_calls=calls))
    return step(SPEC, START, ModelReplied(1, 1, reply))


def held(run: Run[Any], break_point: BreakPoints) -> str:
    """What a breakpoint keeps from happening."""
    rules = holds_of(break_point, SPEC)
    return describe_effects([effect for effect in due(SPEC, run) if rules(run, effect)])


@pytest.mark.parametrize(("count", "stops"), [(0, True), (1, False), (None, True)])
def test_a_breakpoint_stops_before_the_model_is_asked(count: int | None, *, stops: bool) -> None:
    """It counts the visits that are over; None stops at every one."""
    assert held(START, Breakpoint("chat_generator", count)) == "ask the model (turn 1)" * stops


def test_a_tool_breakpoint_holds_all_tools_of_the_turn() -> None:
    """Wherever the named tool stands among the calls."""
    run = calling("note", "pay")

    assert held(run, ToolBreakpoint("tool_invoker", 0, "pay")) == "run note({}), run pay({})"
    assert held(run, ToolBreakpoint("tool_invoker")) == "run note({}), run pay({})"
    assert held(run, ToolBreakpoint("tool_invoker", 1)) == ""
    assert held(calling("note"), ToolBreakpoint("tool_invoker", 0, "pay")) == ""


def test_a_turn_that_has_begun_is_not_stopped() -> None:
    """The breakpoint stands before the turn's tools, not between them."""
    run = step(SPEC, calling("note", "pay"), ToolStarted(CallRef(1, 0), 1))

    assert held(run, ToolBreakpoint("tool_invoker")) == ""


def test_any_function_is_a_breakpoint_and_so_are_several() -> None:
    """A predicate sees the run and the effect; one of several is enough."""
    run = calling("note", "pay")

    assert held(run, lambda run, effect: effect.key.place == 1) == "run pay({})"
    assert held(run, break_every_step) == "run note({}), run pay({})"
    both = [Breakpoint("chat_generator"), ToolBreakpoint("tool_invoker")]
    assert held(START, both)
    assert held(run, both)
    assert held(run, AgentBreakpoint("a", both[1])) == held(run, both[1])


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda: Breakpoint("tool_invoker"), "a Breakpoint, it must have the component_name 'chat"),
        (lambda: ToolBreakpoint("chat_generator"), "a ToolBreakpoint, it must have the component"),
        (lambda: ToolBreakpoint("tool_invoker", 0, "zzz"), "Tool 'zzz' is not available in the ag"),
    ],
)
def test_a_breakpoint_that_can_never_stop_is_refused(
    wrong: Callable[[], Breakpoint], text: str
) -> None:
    """A wrong component, or a tool that is not there."""
    with pytest.raises(ValueError, match=text):
        holds_of(wrong(), SPEC)


def test_an_agent_breakpoint_checks_what_it_holds() -> None:
    """As soon as it is made."""
    with pytest.raises(ValueError, match="component_name 'chat_generator'"):
        AgentBreakpoint("agent", Breakpoint("tool_invoker"))
    with pytest.raises(ValueError, match=">= 0"):
        Breakpoint("chat_generator", -1)


def test_a_tool_breakpoint_says_which_tools_it_means() -> None:
    """Without a name it means all."""
    assert "tool_name=ALL_TOOLS" in str(ToolBreakpoint("tool_invoker"))
    assert "tool_name=pay" in str(ToolBreakpoint("tool_invoker", 0, "pay"))


def test_no_breakpoint_holds_nothing() -> None:
    """The agent goes through."""
    assert held(START, []) == ""
    assert holds_of((), SPEC).first(START, due(SPEC, START)[0]) is None


def test_an_exception_has_all_that_it_takes_to_go_on() -> None:
    """The result, the run, what was about to happen, and a snapshot."""
    effects = due(SPEC, START)
    rule = Breakpoint("chat_generator", 0)
    stopped = AgentResult(
        START, effects, lambda: snapshot_of(SPEC, START, effects, rule_to_json(rule))
    )

    error = BreakpointException(stopped, effects, rule)

    assert str(error).endswith("before: ask the model (turn 1)")
    assert (error.result, error.run, error.effects) == (stopped, START, effects)
    assert error.break_point is rule
    assert error.snapshot.run_id == "r"


def test_every_effect_is_told() -> None:
    """In words that a person understands."""
    call, ref = ToolCall("pay", {"n": 1}, "a"), CallRef(1, 0)
    tool = TOOLS["pay"]
    effects: list[Effect] = [
        Judge(ref, call, tool, lambda call, tool, run: Ask(), START),
        AskHuman(ref, call, tool, "digest", "it costs money"),
        Reconcile(ref, 1, call, tool, START.state),
        WaitUntil(ref, 1, "pause", 9.5),
    ]

    assert [describe_effects([effect]) for effect in effects] == [
        "ask the policy about pay({'n': 1})",
        "ask a human about pay({'n': 1})",
        "look up what became of pay({'n': 1})",
        "wait until 9.5",
    ]


def test_a_call_that_could_not_run_has_not_begun() -> None:
    """One that failed has, so that the turn's other tools are not stopped any more."""
    run = calling("note", "mail")
    failed = ToolRaised(CallRef(1, 0), 1, ToolFault("raised", "no"))

    assert held(run, ToolBreakpoint("tool_invoker")) == "run note({})"
    assert held(step(SPEC, calling("note", "pay"), failed), ToolBreakpoint("tool_invoker")) == ""


def test_what_is_no_breakpoint_is_named_where_it_is_given_to_an_agent() -> None:
    """A function is one by itself."""
    wrong: Any = break_every_step
    with pytest.raises(TypeError, match="needs a Breakpoint or a ToolBreakpoint, got"):
        AgentBreakpoint("helper", wrong)


def test_a_breakpoint_is_json_with_the_tool_and_the_agent_that_it_names() -> None:
    """A function of one's own has no name, and is nothing."""
    rules: list[Any] = [
        Breakpoint("chat_generator", 1),
        ToolBreakpoint("tool_invoker", 0, "pay"),
        AgentBreakpoint("me", Breakpoint("chat_generator")),
        None,
        break_every_step,
    ]

    assert list(map(rule_to_json, rules)) == [
        {"component_name": "chat_generator", "visit_count": 1},
        {"component_name": "tool_invoker", "visit_count": 0, "tool_name": "pay"},
        {"component_name": "chat_generator", "visit_count": 0, "agent_name": "me"},
        {},
        {},
    ]
