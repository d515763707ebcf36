"""The assertions hold when they should, and show the run when they do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from detent import (
    Agent,
    AgentResult,
    AlwaysAskPolicy,
    BlockingConfirmationStrategy,
    ChatMessage,
    State,
    ToolCall,
    tool,
)
from detent.testing import (
    ScriptedChatGenerator,
    ScriptedHuman,
    assert_called,
    assert_called_in_order,
    assert_ended,
    assert_not_called,
    calls_of,
)


@tool
def note(text: str, tags: list[str] | None = None) -> str:
    """Keep a note."""
    return "kept"


@tool
def pay(amount: int) -> str:
    """Pay."""
    return "paid"


@pytest.fixture
def result() -> AgentResult[State]:
    """A run that has kept two notes and waits for a human before it pays."""
    agent = Agent(
        chat_generator=ScriptedChatGenerator(
            ToolCall("note", {"text": "milk", "tags": ["food"]}),
            ChatMessage.from_assistant(
                tool_calls=[ToolCall("pay", {"amount": 9}), ToolCall("note", {"text": "paid?"})]
            ),
        ),
        tools=[note, pay],
        confirmation_strategies={
            "pay": BlockingConfirmationStrategy(AlwaysAskPolicy(), ScriptedHuman(None))
        },
    )
    return agent.run("go on", run_id="r1")


def test_calls_are_found(result: AgentResult[State]) -> None:
    """Settled or open, of one tool or of all, in a result or in a run."""
    names = [call.tool_name for call in calls_of(result)]
    assert names == ["note", "pay", "note"]
    assert [call.arguments["text"] for call in calls_of(result.run, "note")] == ["milk", "paid?"]
    assert calls_of(result, "mail") == []


def test_what_holds_is_let_pass(result: AgentResult[State]) -> None:
    """Arguments that are not named may be anything."""
    assert_called(result, "note")
    assert_called(result, "note", text="milk", tags=["food"])
    assert_called(result.run, "note", text="paid?")
    assert_called(result, "pay", amount=9)
    assert_not_called(result, "mail")
    assert_called_in_order(result, "note", "pay", "note")
    assert_called_in_order(result, "pay")
    ended = Agent(chat_generator=ScriptedChatGenerator("hi")).run("hello")
    assert_ended(ended)
    assert_not_called(ended)


@pytest.mark.parametrize(
    ("check", "told"),
    [
        (
            lambda run: assert_called(run, "note", text="tea"),
            r"note\(text='tea'\) was not called; note was called: note\(text='milk'.*, note\(.*\)",
        ),
        (lambda run: assert_called(run, "mail"), r"mail\(\) was not .* was called: not at all"),
        (lambda run: assert_not_called(run, "pay"), r"should not have been: pay\(amount=9\)"),
        (assert_not_called, r"not have been: note.*, pay.*, note.*"),
        (
            lambda run: assert_called_in_order(run, "pay", "note"),
            "wanted the calls pay, note, got note, pay, note",
        ),
        (lambda run: assert_called_in_order(run, "mail"), "wanted the calls mail, got none"),
        (assert_ended, "the run has not ended, not with 'text'"),
        (lambda run: assert_ended(run, "pay"), "the run has not ended, not with 'pay'"),
    ],
)
def test_what_does_not_hold_is_told_with_the_transcript(
    result: AgentResult[State], check: Callable[[Any], None], told: str
) -> None:
    """What was wanted, what there was, and the whole run."""
    with pytest.raises(AssertionError, match=rf"{told}\n\nrun r1: .*\nuser +go on"):
        check(result)


def test_a_wrong_end_is_told() -> None:
    """With how the run has ended in fact."""
    ended = Agent(chat_generator=ScriptedChatGenerator("hi")).run("hello")
    with pytest.raises(AssertionError, match="the run has ended with 'text', not with 'pay'"):
        assert_ended(ended, "pay")
