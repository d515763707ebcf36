"""Conversations: they come back as they were, and answers do not repeat their calls."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import evolve
from hypothesis import example, given
from hypothesis import strategies as st

from detent import ChatMessage, StoredDataError, TextContent, ToolCall, UnstorableError
from detent.core.chat.messages import ToolCallResult
from detent.core.codec.own_values import dump
from detent.core.state.stored import conversation_data, messages_from_json
from detent.core.values.frozen import FrozenDict

CALLS = [ToolCall("pay", {"n": 1}, "c1"), ToolCall("look", id="c2"), ToolCall("look", id="c3")]
ASKED = ChatMessage.from_assistant(tool_calls=CALLS)
ANSWERS = [ChatMessage.from_tool(str(place), call) for place, call in enumerate(CALLS)]
MESSAGES = [
    ChatMessage.from_user("hi"),
    ASKED,
    *ANSWERS,
    ChatMessage.from_tool((TextContent("parts"),), CALLS[0]),
    ChatMessage.from_tool("no", CALLS[0], error=True),
    evolve(ANSWERS[0], meta=FrozenDict(a=1)),
    evolve(ANSWERS[0], name="somebody"),
    evolve(ANSWERS[0], content=(TextContent("odd"),)),
    evolve(ANSWERS[0], content=(ToolCallResult("1", CALLS[0]), ToolCallResult("2", CALLS[1]))),
    ChatMessage.from_assistant("done"),
]


def in_json(messages: list[ChatMessage]) -> Any:
    """As they come back from a file."""
    return json.loads(json.dumps(conversation_data(messages)))


@given(st.lists(st.sampled_from(MESSAGES), max_size=12))
@example([ANSWERS[0]])
def test_any_conversation_comes_back(messages: list[ChatMessage]) -> None:
    """Also one that no model has ever had: answers in another order, twice, or to nothing."""
    assert [*messages_from_json(in_json(messages))] == messages


def test_an_answer_does_not_repeat_its_call() -> None:
    """Its place says which one it is of; one out of place is written in full."""
    messages = [ASKED, ANSWERS[0], ANSWERS[2], ANSWERS[2]]
    told = in_json(messages)

    assert [*messages_from_json(told)] == messages
    assert told[1:] == [{"result": "0"}, dump(ANSWERS[2]), {"result": "2"}]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (ChatMessage.from_tool("0", evolve(CALLS[0])), {"result": "0"}),  # equal, another object
        (ChatMessage.from_tool("no", CALLS[0], error=True), {"result": "no", "error": True}),
        (
            ChatMessage.from_tool((TextContent("a"),), CALLS[0]),
            {"result": [{"$type": "TextContent", "text": "a"}]},
        ),
    ],
)
def test_an_answer_says_its_result_and_whether_it_is_an_error(
    answer: ChatMessage, told: dict[str, Any]
) -> None:
    """And nothing else."""
    messages = [ASKED, answer]
    data = in_json(messages)

    assert data[1] == told
    assert [*messages_from_json(data)] == messages


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ([{"result": "3"}], r"answers a call, and there is none before it @ data\[0\]"),
        ([dump(ASKED), {"result": 3}], r"must be str or an array, got int @ data\[1\]\.result"),
        ([dump(ASKED), {"result": "3", "more": 1}], r"nothing is called 'more' @ data\[1\]"),
        ([3], r"must be an object, got int @ data\[0\]"),
        ({}, "must be an array, got dict"),
    ],
)
def test_what_is_no_conversation_is_refused(data: Any, told: str) -> None:
    """The error says where."""
    with pytest.raises(StoredDataError, match=told):
        messages_from_json(data, place="data")


def test_what_cannot_be_stored_is_refused_with_its_place() -> None:
    """As everywhere."""
    odd = ChatMessage.from_assistant("x", meta={"f": len})
    with pytest.raises(UnstorableError, match=r"message 1: .* cannot be stored: .* @ data\.meta"):
        conversation_data([MESSAGES[0], odd])
    with pytest.raises(UnstorableError):
        dump(odd)
