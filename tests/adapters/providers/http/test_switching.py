"""Any conversation is written as each provider documents it, whoever has spoken before in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detent.adapters.providers.http.api import ChatRequest
from detent.core.chat.messages import (
    ChatMessage,
    ImageContent,
    ReasoningContent,
    TextContent,
    ToolCall,
)
from detent.core.chat.replies import ChatReply
from detent.core.tools.tool import ToolSpec
from tests.adapters.providers.http.generators import MAKERS, READERS
from tests.adapters.providers.http.recorded import decoded, needs_records, records
from tests.adapters.providers.http.request_schemas import REQUESTS

ADD = ToolSpec("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}}})
PIXEL = ImageContent("aGk=", "image/png")


@cache
def validator(name: str) -> jsonschema_rs.Validator:
    """Holds requests to the form that a provider documents."""
    return jsonschema_rs.validator_for(REQUESTS[name])


def written(name: str, messages: Sequence[ChatMessage]) -> dict[str, Any]:
    """The request with a conversation; it is as the provider documents it."""
    made = MAKERS[name]("m", api_base_url="http://localhost", api_key="k")
    body: dict[str, Any] = json.loads(made.api.encode(ChatRequest("m", messages, [ADD])))
    for error in validator(name).iter_errors(body):
        raise AssertionError(f"{name}: {error}")
    turns = [one.get("role") for one in body.get("messages") or body.get("contents") or ()]
    if name in {"anthropic", "bedrock_converse"}:
        assert turns == [("user", "assistant")[place % 2] for place in range(len(turns))]
    return body


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=9)
said = words.filter(str.strip)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)
arguments = st.dictionaries(words, values, max_size=3)
foreign = st.dictionaries(st.sampled_from(["parrot", "other"]), arguments, max_size=1)
users = st.lists(st.just(PIXEL) | st.builds(TextContent, words), max_size=3)
thoughts = st.builds(ReasoningContent, words, foreign)


@st.composite
def conversations(draw: st.DrawFn) -> list[ChatMessage]:
    """One of several turns: texts, pictures, thoughts, calls and their results, good and bad."""
    messages = [ChatMessage.from_system(text) for text in draw(st.lists(words, max_size=2))]
    for turn in range(draw(st.integers(1, 3))):
        messages.append(ChatMessage.from_user(content_parts=[draw(said), *draw(users)]))
        calls = [
            ToolCall("add", given, f"call_{turn}_{place}", draw(foreign))
            for place, given in enumerate(draw(st.lists(arguments, max_size=3)))
        ]
        thought = draw(st.none() | thoughts)
        text = draw(words) if calls or thought else draw(said)
        messages.append(
            ChatMessage.from_assistant(text or None, tool_calls=calls, reasoning=thought)
        )
        for call in calls:
            result = draw(words | st.just((TextContent("seen"), PIXEL)))
            messages.append(ChatMessage.from_tool(result, origin=call, error=draw(st.booleans())))
    return [*messages, ChatMessage.from_user(draw(said))]


@pytest.mark.parametrize("name", REQUESTS)
@settings(max_examples=60, deadline=None)
@given(messages=conversations())
def test_any_conversation_is_a_request_of_the_documented_form(
    name: str, messages: list[ChatMessage]
) -> None:
    """And the user's last words are in it."""
    last = messages[-1].text
    assert json.dumps(last)[1:-1] in json.dumps(written(name, messages))


PAIRS = [
    (source, target)
    for source in READERS
    for target in REQUESTS
    if READERS[source] is not READERS[target]
]
"""All but those of one API: what it gets back of its own is held against recorded runs."""


SHORTENED = "7d556702967d2ac4"
"""Its picture was shortened by who recorded it, and is no base64."""


def results_of(calls: Sequence[ToolCall]) -> list[ChatMessage]:
    """A result for each call."""
    return [
        ChatMessage.from_tool(f"result {place}", origin=call) for place, call in enumerate(calls)
    ]


@needs_records
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_an_answer_of_one_provider_goes_on_with_another(source: str, target: str) -> None:
    """Every recorded answer: its words, calls and results are there, and nothing foreign is."""
    for record in records(source):
        reply = decoded(record, READERS[source])[1]
        if not isinstance(reply, ChatReply) or record["id"] == SHORTENED:
            continue
        calls = [call for call in reply.message.tool_calls if call.id]
        if len(calls) < len(reply.message.tool_calls) or any(one.unreadable for one in calls):
            continue  # a run gives such calls an id, and refuses what it cannot read
        ask = ChatMessage.from_user("Go on")
        messages = [ask, reply.message, *results_of(calls), ask]
        text = json.dumps(written(target, messages))
        for place in range(len(calls)):
            assert f"result {place}" in text, record["id"]
