"""Odd tools, odd arguments and odd results: each has an answer that a model can act on."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum, Flag, IntEnum, StrEnum
from functools import lru_cache, partial, wraps
from math import inf, nan
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypedDict, TypeVar
from uuid import UUID

import attrs
import pydantic
import pytest
from annotated_types import Ge, MinLen

from detent import (
    Agent,
    ChatMessage,
    ComponentTool,
    Reply,
    ScriptedChatGenerator,
    State,
    Tool,
    ToolCall,
    tool,
)

T = TypeVar("T")
SCHEMA = {
    "count": {"type": int},
    "notes": {"type": list[str]},
    "secret": {"type": str, "default": "hunter2-hunter2"},
}


def blocking(agent: Agent[Any]) -> Any:
    return agent.run("go")


def in_a_loop(agent: Agent[Any]) -> Any:
    return asyncio.run(agent.run_async("go"))


@pytest.fixture(params=[blocking, in_a_loop])
def ask(request: pytest.FixtureRequest) -> Callable[..., tuple[str, Any]]:
    """Has a model call a tool once: what it is told, and the result of the run."""

    def call(called: Tool, **arguments: Any) -> tuple[str, Any]:
        said = ChatMessage.from_assistant(tool_calls=[ToolCall(called.name, arguments)])
        model = ScriptedChatGenerator(said, "done")
        result = request.param(Agent(chat_generator=model, tools=[called], state_schema=SCHEMA))
        return result.messages[-2].tool_call_results[0].text, result

    return call


class Letter(StrEnum):
    """A choice of texts."""

    A = "a"


class Number(IntEnum):
    """A choice of numbers."""

    ONE = 1


class Right(Flag):
    """A choice that can be combined."""

    READ = 1
    WRITE = 2


class Mixed(Enum):
    """A choice of anything."""

    TEXT = "x"
    NOTHING = None


@attrs.frozen
class Page(Generic[T]):
    """A generic class."""

    items: list[T]


@dataclass
class Order:
    """A class that refuses some values."""

    amount: Annotated[int, Ge(1)]
    tags: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if "forbidden" in self.tags:
            raise ValueError("no such tag")


class Settings(TypedDict, total=False):
    """What may be left out."""

    depth: int


class Pair(NamedTuple):
    """Two things."""

    left: int
    right: str


class Node(pydantic.BaseModel):
    """A model of itself."""

    name: Annotated[str, MinLen(1)]
    inner: Node | None = None


def shows(declared: Any) -> Tool:
    """A tool with one parameter, which tells what it got."""

    def show(it: Any) -> str:
        return repr(it)

    show.__annotations__["it"] = declared
    return tool(show)


@pytest.mark.parametrize(
    ("declared", "sent", "told"),
    [
        (float, 10**400, "'it' cannot be used: OverflowError: int too large to convert to float"),
        (float, inf, "the arguments cannot be checked: JSON has no inf"),
        (int, 2.0, "2"),
        (int, True, "'it' must be an integer, got true"),
        (bool, 1, "'it' must be true or false, got 1"),
        (str, 1, "'it' must be a string, got 1"),
        (Letter, "a", "<Letter.A: 'a'>"),
        (Number, 1, "<Number.ONE: 1>"),
        (Number, "1", "'it' must be 1, got \"1\""),
        (Right, 3, "'it' must be 1 or 2, got 3"),
        (Mixed, None, "<Mixed.NOTHING: None>"),
        (Literal["a", 1] | None, 1, "1"),
        (Literal["a", 1], True, "'it' must be \"a\" or 1, got true"),
        (dict[int, str], {"1": "x"}, "{1: 'x'}"),
        (dict[int, str], {"one": "x"}, "'it.one (the name)' must match ^-?(0|[1-9][0-9]*)$, got"),
        (dict[Letter, int], {"a": 1}, "{<Letter.A: 'a'>: 1}"),
        (Page[Number], {"items": [1]}, "Page(items=[<Number.ONE: 1>])"),
        (Page[Number], {"items": [2]}, "'it.items[0]' must be 1, got 2"),
        (Order, {"amount": 1}, "Order(amount=1, tags=[])"),
        (Order, {"amount": 0}, "'it.amount' must be at least 1, got 0"),
        (Order, {"amount": 1, "tags": ["forbidden"]}, "'it' cannot be used: no such tag"),
        (Order, {"amount": 1, "price": 2}, "'it.price' is not known; there is: amount, tags"),
        (Settings, {}, "{}"),
        (Pair, [1, "x"], "Pair(left=1, right='x')"),
        (Pair, [1], "'it' must have at least 2 items, got 1"),
        (Node, {"name": "a", "inner": {"name": ""}}, "'it.inner.name' must have at least 1 char"),
        (set[int], [1, 1], "'it' must not have an item twice"),
        (tuple[int, ...], [1, 2], "(1, 2)"),
        (date | int, "2026-01-31", "datetime.date(2026, 1, 31)"),
        (timedelta, 1e300, "'it' must be a duration as in P1DT12H30M5S, got 1e+300"),
        (timedelta, f"PT{9**99}S", "'it' must be a duration as in P1DT12H30M5S, got "),
        (Decimal, "1e5", "'it' must be a decimal number as in 12.50, got \"1e5\""),
        (UUID, "1", "'it' must be a UUID, got \"1\""),
        (bytes, "???", "'it' must be base64 text, got \"???\""),
        (Path, "a/b", repr(Path("a/b"))),
        (list[list[int]], [[1], ["x"]], "'it[1][0]' must be an integer, got \"x\""),
        (Any, {"deep": [None]}, "{'deep': [None]}"),
    ],
    ids=str,
)
def test_odd_arguments_are_converted_or_told(
    ask: Callable[..., tuple[str, Any]], declared: Any, sent: object, told: str
) -> None:
    """Exactly, or in a sentence that names what is wrong."""
    text, _ = ask(shows(declared), it=sent)
    assert text.removeprefix("Tool 'show' was not run: ").startswith(told)


def add(a: int, b: int = 1) -> int:
    return a + b


@wraps(add)
def wrapped(*args: Any, **kwargs: Any) -> int:
    return add(*args, **kwargs)


async def later(a: int, b: int = 1) -> int:
    await asyncio.sleep(0)
    return a + b


class Adder:
    """An object that can be called."""

    def __call__(self, a: int, b: int = 1) -> int:
        """Add."""
        return a + b

    def run(self, a: int, b: int = 1, state: State | None = None) -> int:
        """Add, as a component does."""
        return a + b

    async def later(self, a: int, b: int = 1) -> int:
        """Add, in time."""
        return a + b


def names(self: int, cls: int, *, state: str, tool: str = "", title: str = "") -> int:
    return self + cls + len(state)


@pytest.mark.parametrize(
    "made",
    [
        tool(add),
        tool(later),
        tool(wrapped),
        tool(lru_cache(add)),
        tool(name="partial")(partial(add, b=1)),
        tool(name="later")(partial(later, b=1)),
        tool(Adder()),
        tool(Adder().run),
        tool(Adder().later),
        ComponentTool(Adder()),
        tool(name="promise")(lambda: later(1)),
        Tool(
            "hand", "", {"type": "object", "properties": {"a": {}}}, lambda **given: given["a"] + 1
        ),
    ],
    ids=[
        *("function", "coroutine", "wrapped", "cached", "partial", "partial of coroutine"),
        *("object", "method", "async method", "component", "coroutine returned", "by hand"),
    ],
)
def test_whatever_can_be_called_is_called(ask: Callable[..., tuple[str, Any]], made: Tool) -> None:
    """By its name, with what the model sent."""
    sent = {"a": 1} if made.spec.parameters["properties"] else {}
    assert ask(made, **sent)[0] == "2"


def test_parameters_may_be_called_anything(ask: Callable[..., tuple[str, Any]]) -> None:
    """Also what means something elsewhere."""
    assert ask(tool(names), self=1, cls=2, state="x")[0] == "4"


class Opaque:
    """What nothing is known of."""

    def __repr__(self) -> str:
        return "an opaque thing"


class Unprintable:
    """What cannot even be printed."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")


LOOP: list[object] = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (None, "null"),
        ("", ""),
        (Letter.A, "a"),
        ([nan, inf], '["NaN", "Infinity"]'),
        ({Mixed.NOTHING: 1, date(2026, 1, 31): 2}, '{"null": 1, "2026-01-31": 2}'),
        ({(1, 2): {3}}, '{"[1, 2]": [3]}'),
        (MappingProxyType({"a": deque([1])}), '{"a": [1]}'),
        (Counter("aab"), '{"a": 2, "b": 1}'),
        (Page([Order(1)]), '{"items": [{"amount": 1, "tags": []}]}'),
        (Node(name="a"), '{"name": "a", "inner": null}'),
        (Opaque(), "an opaque thing"),
        (LOOP, "[[...]]"),
        (range(2), "[0, 1]"),
        (b"\xff", '"/w=="'),
        (Unprintable(), "The result of tool 'give' could not be used: RuntimeError: no text"),
        (
            (n for n in "ab"),
            "The result of tool 'give' could not be used: TypeError: a tool returns",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_odd_results_become_text(
    ask: Callable[..., tuple[str, Any]], result: object, told: str
) -> None:
    """As JSON, as Python prints them, or as an error; the run goes on."""

    @tool
    def give() -> Any:
        return result

    assert ask(give)[0].startswith(told)


class SilentError(Exception):
    """An exception that fails to say what it is."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError(), "ValueError"),
        (SilentError(), "SilentError: it cannot be shown"),
        (SystemExit(3), "SystemExit: 3"),
        (StopIteration("x"), "RuntimeError: the function raised StopIteration: x"),
        (asyncio.CancelledError(), "CancelledError"),
        (ExceptionGroup("g", [ValueError("a"), KeyError("b")]), "ValueError: a; KeyError: 'b'"),
        (KeyError("hunter2-hunter2"), "KeyError: '<secret>'"),
        (ValueError('{"token": "hunter2-hunter2"}'), 'ValueError: {"token": "<secret>"}'),
        (ValueError("?token=hunter2-hunter2&x"), "ValueError: ?token=<secret>&x"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_odd_exceptions_are_told(
    ask: Callable[..., tuple[str, Any]], error: BaseException, told: str
) -> None:
    """Whatever is raised, and never with what the state holds."""

    @tool
    def fail(state: State) -> str:
        raise error

    text, _ = ask(fail)
    assert text.split("Error: ", 1)[1].endswith(told.removeprefix("ValueError: "))
    assert "hunter2" not in text


def not_a_write() -> Reply:
    wrong: Any = "a note"
    return Reply("ok", wrong)


def wrong_write(state: State) -> str:
    state.set("count", "one")
    return "ok"


def swallowed(state: State) -> str:
    try:
        state.set("count", "one")
    except ValueError:
        state.set("notes", ["it does not fit"])
    return "ok"


@pytest.mark.parametrize(
    ("function", "wires", "told", "notes"),
    [
        (not_a_write, {}, "TypeError: a Reply takes writes", None),
        (wrong_write, {}, "StateTypeError: state key 'count' holds int, got str: 'one'", None),
        (swallowed, {}, "ok", ["it does not fit"]),
        (
            lambda: {"count": 1, "notes": [2]},
            {"outputs_to_state": {"count": {"source": "count"}, "notes": {"source": "notes"}}},
            "was not stored: state key 'notes' holds list[str]",
            None,
        ),
        (
            lambda: ["x"],
            {"outputs_to_state": {"notes": {"handler": lambda old, new: 1 // 0}}},
            "was not stored: the handler <lambda> of state key 'notes' raised ZeroDivisionError",
            None,
        ),
        (lambda: "x", {"outputs_to_state": {"notes": {}}}, "x", ["x"]),
    ],
    ids=["no write", "wrong write", "swallowed", "half", "handler", "one item"],
)
def test_odd_writes_are_all_there_or_none(
    ask: Callable[..., tuple[str, Any]],
    function: Callable[..., Any],
    wires: dict[str, Any],
    told: str,
    notes: list[str] | None,
) -> None:
    """What does not fit is told, and takes everything with it that the call wrote."""
    text, result = ask(tool(name="write", **wires)(function))
    assert told in text
    assert result["notes"] == notes
    assert result["count"] is None
