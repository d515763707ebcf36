"""What a tool returns becomes content for the model and writes for the state."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from math import inf, nan
from typing import Any, NamedTuple

import pytest
from attrs import evolve, frozen

from detent.adapters.state.fields import Replaced
from detent.adapters.state.typed_state import TypedState
from detent.adapters.tools.decorator import stores
from detent.core.chat.messages import FileContent, ImageContent, TextContent
from detent.core.state.fields import Appended
from detent.core.state.keys import Write
from detent.core.state.state import State
from detent.core.tools.result import ResultError, ToolResult, result_of, text_of
from detent.core.tools.signature import ToolFunction
from detent.core.tools.tool import Tool
from detent.core.tools.wiring import Reply


class Research(TypedState):
    """The state of an agent."""

    papers = Appended[str]()
    count = Replaced(0)


@frozen
class Found:
    """What a search gives."""

    papers: list[str]
    count: int


class Shade(StrEnum):
    """A choice."""

    RED = "red"


class Table:
    """A class that says what it is as a dict."""

    def to_dict(self) -> dict[str, list[int]]:
        """As pandas has it."""
        return {"rows": [1]}

    def __repr__(self) -> str:
        return "table"


class Pile(NamedTuple):
    """A named tuple."""

    papers: list[str]


@frozen
class Mixed:
    """A record that says what it is as a dict too."""

    share: float

    def to_dict(self) -> dict[str, str]:
        """Of other parts."""
        return {"other": "words"}


class Shelf:
    """A plain class."""

    def __init__(self) -> None:
        self.papers = ["x"]
        self.count = 1

    def sort(self) -> None:
        """No part."""


def papers_in(found: Found) -> list[str]:
    return found.papers


PLAIN = Tool("find", "", {"type": "object"}, lambda: None)
IMAGE = ImageContent("aGk=")


def wired(**wires: Any) -> Tool:
    return evolve(PLAIN, **wires)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        ({"a": [1, "é"]}, '{"a": [1, "é"]}'),
        (None, "null"),
        (True, "true"),
        (Found(["x"], 1), '{"papers": ["x"], "count": 1}'),
        ([date(2026, 1, 31)], '["2026-01-31"]'),
        ({(1, 2): 3, 1: 2, Shade.RED: 3}, '{"[1, 2]": 3, "1": 2, "red": 3}'),
        (
            {date(2026, 1, 31): nan, "b": [inf, -inf]},
            '{"2026-01-31": "NaN", "b": ["Infinity", "-Infinity"]}',
        ),
        ([Found([], 1), Shade.RED, nan, None], '[{"papers": [], "count": 1}, "red", "NaN", null]'),
        (Shade.RED, "red"),
        ({1j: "x"}, "{1j: 'x'}"),
        ([Table()], '[{"rows": [1]}]'),
        (Mixed(nan), '{"share": "NaN"}'),
        ([1j], "[1j]"),
        (1 + 2j, "(1+2j)"),
    ],
    ids=str,
)
def test_text_stays_and_all_else_becomes_json(value: object, text: str) -> None:
    """What JSON cannot say is said as Python prints it."""
    assert text_of(value) == text
    assert result_of(PLAIN, value).content == text


def test_a_value_that_contains_itself_is_printed() -> None:
    """Nothing hangs."""
    loop: list[object] = []
    loop.append(loop)
    assert text_of(loop) == "[[...]]"


@pytest.mark.parametrize(
    ("value", "content"),
    [
        (IMAGE, (IMAGE,)),
        ([TextContent("see"), IMAGE], (TextContent("see"), IMAGE)),
        ((FileContent("aGk=", "text/plain"),), (FileContent("aGk=", "text/plain"),)),
        ([], "[]"),
    ],
    ids=["image", "list", "tuple", "empty"],
)
def test_a_tool_may_return_text_images_and_files(value: object, content: object) -> None:
    """As the parts of a message."""
    assert result_of(PLAIN, value).content == content


@pytest.mark.parametrize(
    ("rule", "value", "content"),
    [
        ({"source": "papers"}, {"papers": ["x"], "count": 1}, '["x"]'),
        ({"source": "papers"}, Found(["x"], 1), '["x"]'),
        ({"source": "papers", "handler": ", ".join}, {"papers": ["x", "y"]}, "x, y"),
        ({"handler": len}, [1, 2], "2"),
        ({"source": "papers"}, {"count": 1}, "null"),
        ({"source": "papers"}, "only text", "only text"),
        (
            {"n": {"source": "count"}, "p": {"source": "papers", "handler": len}},
            Found(["x"], 3),
            '{"n": 3, "p": 1}',
        ),
        (
            {"n": {"source": "count"}, "p": {"source": "papers"}},
            {"count": 3},
            '{"n": 3, "p": null}',
        ),
        ({"source": "image", "raw_result": True}, {"image": IMAGE}, (IMAGE,)),
        ({"raw_result": True}, "text", "text"),
    ],
)
def test_a_rule_makes_the_text(rule: dict[str, Any], value: object, content: object) -> None:
    """Of a part, by a function, or of several parts."""
    assert result_of(wired(outputs_to_string=rule), value).content == content


@pytest.mark.parametrize(
    ("value", "writes"),
    [
        ({"papers": ["x"], "count": 1}, [Write("papers", ["x"]), Write("count", 1, max)]),
        (Found(["x"], 1), [Write("papers", ["x"]), Write("count", 1, max)]),
        (Shelf(), [Write("papers", ["x"]), Write("count", 1, max)]),
        ({"count": 1}, [Write("count", 1, max)]),
        (Pile(["x"]), [Write("papers", ["x"])]),
        ("text", []),
    ],
)
def test_parts_of_a_result_are_written(value: object, writes: list[Write]) -> None:
    """A part that is not there writes nothing, whatever the key."""
    rules = {"papers": {"source": "papers"}, "count": {"source": "count", "handler": max}}
    assert result_of(wired(outputs_to_state=rules), value).writes == tuple(writes)


@pytest.mark.parametrize("value", [{"a": 1}, "text", [1], None], ids=str)
def test_without_a_source_the_whole_result_is_written(value: object) -> None:
    """Whatever it is."""
    result = result_of(wired(outputs_to_state={"all": {}}), value)
    assert result.writes == (Write("all", value),)


def test_a_part_that_is_not_there_is_told_to_observers() -> None:
    """The result is used for what it has."""
    made = wired(
        outputs_to_string={"source": "text"},
        outputs_to_state={"papers": {"source": "papers"}, "count": {"source": "count"}},
    )
    assert result_of(made, {"text": "done", "count": 1}).warnings == (
        "the result of tool 'find' has no 'papers' for state key 'papers'",
    )
    assert (
        result_of(made, {}).warnings[0] == "the result of tool 'find' has no 'text' for the model"
    )


def test_a_reply_says_one_thing_and_writes_another() -> None:
    """What the wiring stores of its content comes first."""
    reply = Reply("noted", Research.papers.put(["x"]), Research.count.put(1))
    result = result_of(wired(outputs_to_state={"said": {}}), reply)
    assert result.content == "noted"
    assert result.writes == (Write("said", "noted"), Write("papers", ["x"]), Write("count", 1))


def test_a_source_may_be_a_function() -> None:
    """As `stores` takes it."""

    @stores(Research.papers, source=papers_in)
    def find() -> Found:
        return Found(["x"], 1)

    made = Tool("find", "", {"type": "object"}, find)
    assert result_of(made, find()).writes == (Write("papers", ["x"]),)


def test_a_written_value_can_no_longer_be_changed() -> None:
    """Also not by the tool that still has it."""
    papers = ["x"]
    result = result_of(wired(outputs_to_state={"papers": {}}), papers)
    papers.append("y")
    replied = result_of(PLAIN, Reply("", Write("papers", papers)))
    papers.append("z")
    assert result.writes[0].value == ["x"]
    assert replied.writes[0].value == ["x", "y"]


def test_a_state_that_is_returned_says_nothing() -> None:
    """What was written to it is known already, and the rest is not for the model."""
    assert result_of(PLAIN, State({"secret": {"type": str}}, {"secret": "x"})).content == "null"


@pytest.mark.parametrize(
    ("wires", "expected"),
    [
        ({"outputs_to_string": {"handler": int}}, "ValueError: invalid literal for int()"),
        ({"outputs_to_string": {"raw_result": True}}, "TypeError: a raw result is text or content"),
    ],
)
def test_a_result_that_cannot_be_converted_is_an_error(
    wires: dict[str, Any], expected: str
) -> None:
    """It says whose and why."""
    value = "text" if "handler" in wires["outputs_to_string"] else {"a": 1}
    with pytest.raises(ResultError) as caught:
        result_of(wired(**wires), value)
    assert str(caught.value).startswith(f"The result of tool 'find' could not be used: {expected}")


@pytest.mark.parametrize(
    ("value", "source"), [("text", "title"), ([1], "count"), (Shelf(), "sort")]
)
def test_a_method_is_no_part(value: object, source: str) -> None:
    """It would be stored as a function."""
    result = result_of(wired(outputs_to_state={"x": {"source": source}}), value)
    assert result.writes == ()


async def later() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    "value", [(n for n in "ab"), map(str, "ab"), later()], ids=["generator", "map", "async"]
)
def test_a_result_that_comes_in_pieces_is_an_error(value: object) -> None:
    """A model cannot wait for the rest."""
    with pytest.raises(ResultError, match="a tool returns all at once, as a list, and not a "):
        result_of(PLAIN, value)


def test_a_dataclass_has_parts_too() -> None:
    """Like any record."""

    @dataclass
    class Page:
        text: str

    rules = {"text": {"source": "text"}}
    assert result_of(wired(outputs_to_state=rules), Page("x")).writes == (Write("text", "x"),)


def test_an_object_without_a_text_is_told_by_its_class() -> None:
    """Its address says nothing, and would differ from run to run."""

    class Lamp:
        pass

    assert text_of(Lamp()) == "<Lamp>"


def test_a_function_is_no_result_unless_something_is_made_of_it() -> None:
    """Somebody forgot to call it; a handler may make a text of it."""

    def now() -> str:
        return "noon"

    with pytest.raises(ResultError, match=r"and not the function 'now' itself: call it, now\(\)"):
        result_of(Tool("find", "", {"type": "object"}, lambda: None), now)
    rule = {"handler": lambda made: made()}
    told = Tool("find", "", {"type": "object"}, lambda: None, outputs_to_string=rule)
    assert result_of(told, now).content == "noon"


@pytest.mark.parametrize("rules", [{}, {"outputs_to_string": {"it": {"source": "it"}}}])
def test_a_result_that_json_has_no_words_for_is_told_to_observers(rules: Any) -> None:
    """By the name of its type."""

    class Thing:
        """Neither data nor printed in its own way."""

    made = Tool("find", "", {"type": "object"}, lambda: None, **rules)
    result = result_of(made, {"it": Thing()} if rules else Thing())
    (warning,) = result.warnings
    what = "dict" if rules else "Thing"
    assert warning == (
        f"the result of tool 'find' is no JSON: the model reads how Python prints a {what}; "
        "return a text, a dict or a dataclass, or say outputs_to_string={'handler': …}"
    )
    nothing = "Tool 'find' has given an object of type Thing, which cannot be read as text."
    assert (result.content == nothing) is not bool(rules)
    assert result_of(made, {"it": (1, {2})}).warnings == ()


def test_a_return_that_was_forgotten_is_told_to_observers() -> None:
    """Where None is no value of what the function promises; it may be one of most promises."""

    def total() -> int:  # type: ignore[empty-body]  # it is what is forgotten
        """Forget it."""

    def nothing() -> None: ...
    def perhaps() -> int | None: ...
    def something() -> object: ...

    def warnings(function: ToolFunction, value: object = None, **wiring: Any) -> tuple[str, ...]:
        made = Tool("sum", "", {"type": "object"}, function, **wiring)
        return result_of(made, value).warnings

    missing = "tool 'sum' returned None, and says int: is a return missing?"
    assert warnings(total) == warnings(total, outputs_to_state={"all": {}}) == (missing,)
    assert warnings(total, 3) == ()
    for function in (lambda: None, nothing, perhaps, something):
        assert warnings(function) == ()


def test_what_people_do_not_see_of_a_result_does_not_print() -> None:
    """What they see does."""
    assert "content='in'" in repr(ToolResult("in"))
    printed = repr(ToolResult("in by S3CRET", display="in by <pin>"))
    assert printed == "ToolResult(display='in by <pin>', writes=(), warnings=())"


@pytest.mark.parametrize(
    "value", [10**5000, -(10**5000), [10**5000], {"receipt": 10**5000}], ids=range(4)
)
def test_a_number_that_python_prints_not_is_a_result_that_cannot_be_used(value: object) -> None:
    """Its tool has run: that is no failure after which it may be tried again."""
    tool = Tool("pay", "", {"type": "object"}, lambda: value)

    with pytest.raises(ResultError, match="'pay' could not be used: ValueError: Exceeds"):
        result_of(tool, value)


def test_an_error_without_a_text_is_told_by_its_name() -> None:
    """Its tool has run, too."""

    class SilentError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    class Receipt:
        def __str__(self) -> str:
            raise SilentError

    tool = Tool("pay", "", {"type": "object"}, Receipt)

    with pytest.raises(ResultError, match="'pay' could not be used: SilentError"):
        result_of(tool, Receipt())
