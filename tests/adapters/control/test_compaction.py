"""Compaction: less is sent, and no result without its call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent import ChatMessage, ChatRole, State, ToolCall, keep_last_messages, shorten_tool_results
from detent.core.control.hooks import Hook, outgoing
from detent.machine import AskModel, FrozenDict, Run

RUN: Run[Any] = Run("r", State({}))
SYSTEM, TASK = ChatMessage.from_system("be brief"), ChatMessage.from_user("find the gold")


def turn(*results: str) -> list[ChatMessage]:
    """A model's message with calls, and their results."""
    calls = [ToolCall("search", {"n": n}, f"c{n}") for n in range(len(results))]
    answers = [ChatMessage.from_tool(text, call) for text, call in zip(results, calls, strict=True)]
    return [ChatMessage.from_assistant(tool_calls=calls), *answers]


def sent(hook: Hook, messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """What the model is sent of a conversation."""
    ask = AskModel(1, 1, messages, (), FrozenDict())
    changed = outgoing([hook], ask, RUN)
    assert isinstance(changed, AskModel)
    return list(changed.messages)


TURNS = st.lists(
    st.one_of(
        st.lists(st.text(max_size=9), min_size=1, max_size=3).map(lambda texts: turn(*texts)),
        st.just([ChatMessage.from_user("go on")]),
        st.just([ChatMessage.from_assistant("well")]),
    ),
    max_size=6,
).map(lambda turns: [message for one in turns for message in one])


@given(TURNS, st.integers(1, 9))
def test_what_is_sent_is_a_whole_conversation(turns: list[ChatMessage], count: int) -> None:
    """The opening, the user's newest message and at least the last `count`; each call answered."""
    messages = [SYSTEM, TASK, *turns]

    kept = sent(keep_last_messages(count), messages)

    assert kept[0] == SYSTEM
    assert kept[-count:] == messages[-count:] or len(messages) <= count
    users = [one for one in messages if one.role is ChatRole.USER]
    assert users[-1] in kept
    for at, message in enumerate(kept):
        if message.role is ChatRole.TOOL:
            assert kept[at - 1].role in (ChatRole.TOOL, ChatRole.ASSISTANT)
    calls = [call for message in kept for call in message.tool_calls]
    results = [one.origin for message in kept for one in message.tool_call_results]
    assert calls == results


def test_a_cut_moves_to_the_beginning_of_its_turn() -> None:
    """Rather than to part the calls from their results."""
    messages = [SYSTEM, TASK, *turn("one"), *turn("two", "three")]

    assert sent(keep_last_messages(1), messages) == [SYSTEM, TASK, *messages[-3:]]
    assert sent(keep_last_messages(4), messages) == [SYSTEM, TASK, *messages[2:]]


def test_a_short_conversation_is_sent_whole() -> None:
    """Nothing is left out that need not be."""
    messages = [SYSTEM, TASK, *turn("one")]

    assert sent(keep_last_messages(3), messages) == messages
    assert sent(shorten_tool_results(longest=3), messages) == messages


def test_a_conversation_of_nothing_but_its_opening_or_one_turn_is_sent_whole() -> None:
    """There is no place to cut it."""
    for messages in ([], [SYSTEM], turn("one"), turn("one", "two")):
        assert sent(keep_last_messages(1), messages) == messages


def test_old_and_long_results_are_left_out() -> None:
    """Each by a line that says so; calls, errors and what is new stay."""
    long = "x" * 1200
    messages = [TASK, *turn(long, "short"), *turn(long, long)]

    short = sent(shorten_tool_results(keep_last=1), messages)

    texts = [one.text for message in short for one in message.tool_call_results]
    left_out = "[The result of tool 'search' is left out here: 1,200 characters.]"
    assert texts == [left_out, "short", long, long]
    assert [one.tool_calls for one in short] == [one.tool_calls for one in messages]


def test_at_least_one_message_is_kept() -> None:
    """A window of nothing is a mistake."""
    with pytest.raises(ValueError, match="at least one message"):
        keep_last_messages(0)
    with pytest.raises(ValueError, match="at least one message"):
        shorten_tool_results(keep_last=0)
