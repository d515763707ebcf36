"""Wiring by strings and by keys, and what is said of wiring that is none."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import pytest

from detent.adapters.state.fields import Replaced
from detent.adapters.state.typed_state import TypedState
from detent.adapters.tools.decorator import inject, stores, tool
from detent.core.errors import ToolDefinitionError
from detent.core.state.fields import Appended
from detent.core.state.keys import Write
from detent.core.tools.wiring import (
    Injected,
    Input,
    Output,
    Reply,
    TextRule,
    inputs_from,
    outputs_from,
    outputs_of,
    text_rules_from,
)


class Research(TypedState):
    """The state of an agent."""

    reader = Replaced("")
    papers = Appended[str]()


def first(found: dict[str, list[str]]) -> list[str]:
    return found["papers"]


def test_an_injected_default_names_its_key() -> None:
    """Whoever calls the function by hand and forgets the argument sees what it is."""
    default: Any = inject(Research.reader)
    assert default == Injected(Research.reader)
    assert repr(default) == (
        "<state key 'reader', filled in by the agent; pass a value to call by hand>"
    )


def test_a_stored_result_marks_the_function() -> None:
    """It stays the function it is, and the marks are in the order they stand."""

    @stores(Research.papers, source=first)
    @stores(Research.reader, source="reader")
    def search() -> dict[str, list[str]]:
        return {"papers": ["one"]}

    assert search() == {"papers": ["one"]}
    assert outputs_of(search) == (
        Output("papers", first, declared=Research.papers),
        Output("reader", "reader", declared=Research.reader),
    )
    assert outputs_of(first) == ()


def test_storing_stands_below_the_tool() -> None:
    """A tool is made of what the decorators below it have said."""
    with pytest.raises(ToolDefinitionError, match="below @tool"):
        stores(Research.papers)(tool(name="search")(lambda: ["one"]))
    assert outputs_of(stores(Research.papers)(partial(list, ["one"])))


def test_a_reply_has_what_is_said_and_what_is_written() -> None:
    """The two may have nothing to do with each other."""
    reply = Reply("noted", Research.papers.put(["one"]), Research.reader.put("Ada"))
    assert reply.content == "noted"
    assert [write.key for write in reply.writes] == ["papers", "reader"]
    assert repr(Reply("noted", Write("a", 1))) == f"Reply('noted', {Write('a', 1)!r})"


def test_wiring_by_strings_is_read() -> None:
    """As the dictionaries of `Tool` say it."""
    assert inputs_from({"user": "who"}) == (Input("user", "who"),)
    assert outputs_from({"a": {}, "b": {"source": "x", "handler": max}}) == (
        Output("a"),
        Output("b", "x", max),
    )
    assert text_rules_from({}) == TextRule()
    assert text_rules_from({"source": "x", "raw_result": True}) == TextRule("x", raw=True)
    assert text_rules_from({"a": {"source": "x"}, "b": {"source": "y", "handler": str}}) == {
        "a": TextRule("x"),
        "b": TextRule("y", str),
    }


@pytest.mark.parametrize(
    ("read", "wiring", "expected"),
    [
        (inputs_from, {"user": {"a": 1}}, "inputs_from_state['user'] must name a parameter, got"),
        (
            outputs_from,
            {"a": "x"},
            "outputs_to_state['a'] must be a dict of handler, source, got 'x'",
        ),
        (
            outputs_from,
            {"a": {"from": 1}},
            "outputs_to_state['a'] must be a dict of handler, source",
        ),
        (
            outputs_from,
            {"a": {"source": 1}},
            "outputs_to_state['a']: 'source' must be a name, got 1",
        ),
        (outputs_from, {"a": {"handler": 1}}, "outputs_to_state['a']: 'handler' must be callable"),
        (
            text_rules_from,
            {"source": "x", "a": {}},
            "outputs_to_string must be a dict of handler, r",
        ),
        (
            text_rules_from,
            {"raw_result": "no"},
            "outputs_to_string: 'raw_result' is True or False, got 'no'",
        ),
        (text_rules_from, {"a": {"handler": str}}, "outputs_to_string['a'] needs a 'source'"),
        (
            text_rules_from,
            {"a": {"source": "x", "raw_result": True}},
            "outputs_to_string['a'] must be a dict of handler, source, got",
        ),
    ],
)
def test_wiring_that_is_none_is_refused(read: Any, wiring: Any, expected: str) -> None:
    """Where it is, what it should be and what it is."""
    with pytest.raises(ToolDefinitionError) as caught:
        read(wiring)
    assert str(caught.value).startswith(expected)


def test_a_reply_takes_writes_only() -> None:
    """A mistake shows in the tool, and not where its result is stored."""
    wrong: Any = {"papers": ["x"]}
    with pytest.raises(TypeError, match=r"a Reply takes writes, as in Research\.documents\.put"):
        Reply("ok", wrong)


def test_a_source_that_is_a_function_takes_the_result() -> None:
    """And nothing else."""

    def wrong() -> list[str]:
        return []

    with pytest.raises(ToolDefinitionError, match="'source' is called with the result, which <"):
        stores(Research.papers, source=cast(Any, wrong))


def test_what_is_no_key_cannot_be_injected() -> None:
    """A name, as of a dict schema, is wired in another way; the message says how."""
    with pytest.raises(TypeError, match=r"takes a typed key, .* got 'user'; .*inputs_from_state="):
        inject("user")  # type: ignore[arg-type]  # the mistake
