"""Blocks and texts of a provider, kept in a message at their places."""

from __future__ import annotations

import json

from attrs import evolve

from detent.adapters.providers.meaning.parts import (
    Opaque,
    Part,
    Said,
    assistant_message,
    own_data,
    parts_of,
    without,
)
from detent.core.chat.messages import ChatMessage, ReasoningContent, TextContent, ToolCall
from detent.core.values.frozen import thaw

SEARCH = Opaque({"type": "search", "query": "q"})
FOUND = Opaque({"type": "found", "pages": [1, {"a": None}]})
CITED = Said("It is so.", {"citations": [{"page": 1}]})
THOUGHT = ReasoningContent("hm", {"p": {"signature": "s"}})
CALL = ToolCall("add", {"a": 1}, "c1")


def test_what_goes_in_comes_out_in_its_order() -> None:
    """Blocks at the beginning, between parts, several in a row, and at the end."""
    parts: list[Part] = [SEARCH, FOUND, THOUGHT, Said("Well."), CITED, SEARCH, CALL, FOUND]
    message = assistant_message("p", parts)
    assert message.content == (THOUGHT, TextContent("Well."), TextContent("It is so."), CALL)
    assert [*parts_of("p", message)] == parts


def test_a_message_keeps_them_when_it_is_stored() -> None:
    """Its meta is plain JSON."""
    message = assistant_message("p", [SEARCH, CITED], {"id": "m1"})
    stored = json.loads(json.dumps(thaw(message.meta)))
    assert [*parts_of("p", evolve(message, meta=stored))] == [SEARCH, CITED]
    assert own_data("p", stored)["id"] == "m1"


def test_other_providers_see_the_common_parts_only() -> None:
    """And a message that nobody has marked is made of its own parts."""
    message = assistant_message("p", [SEARCH, CITED, CALL])
    assert [*parts_of("other", message)] == [Said("It is so."), CALL]
    assert [*parts_of("p", ChatMessage.from_assistant("Hi"))] == [Said("Hi")]


def test_a_message_without_anything_to_keep_has_no_meta() -> None:
    """It is equal to one that is made by hand."""
    assert assistant_message("p", [Said("Hi"), CALL]) == ChatMessage.from_assistant(
        "Hi", tool_calls=[CALL]
    )


def test_a_changed_call_is_given_back_changed() -> None:
    """A human may correct arguments; what stands around the call stays."""
    message = assistant_message("p", [SEARCH, CALL, FOUND])
    changed = evolve(CALL, arguments={"a": 2})
    assert [*parts_of("p", evolve(message, content=[changed]))] == [SEARCH, changed, FOUND]


def test_blocks_stay_when_parts_before_them_are_taken_away() -> None:
    """They come last then."""
    message = assistant_message("p", [Said("a"), Said("b"), FOUND])
    shorter = evolve(message, content=[TextContent("a")])
    assert [*parts_of("p", shorter)] == [Said("a"), FOUND]


def test_data_of_another_shape_is_nobodys() -> None:
    """A user may have put anything there."""
    assert own_data("p", {"p": "text"}) == {}
    assert own_data("p", {}) == {}


def test_members_are_taken_out_by_name() -> None:
    """The rest is a new dict."""
    assert without({"a": 1, "b": 2, "c": 3}, "a", "c", "d") == {"b": 2}
