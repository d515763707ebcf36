"""One call of a function: its arguments, its result, and what is said when it fails."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import date
from types import FrameType
from typing import Annotated, Any, Literal, NamedTuple, TypedDict, cast

import pytest
from annotated_types import Ge
from attrs import field, frozen

from detent.adapters.state.fields import Replaced
from detent.adapters.state.typed_state import TypedState
from detent.adapters.tools.decorator import inject, tool
from detent.core.chat.messages import ChatMessage, ToolCall
from detent.core.errors import StateError, StateTypeError
from detent.core.schema.conversion import ConversionError
from detent.core.state.keys import Write
from detent.core.state.state import State, with_secret_keys
from detent.core.tools import wording
from detent.core.tools.idempotency import FencingToken, IdempotencyKey, OutcomeUnknownError
from detent.core.tools.invocation import Invocation, MissingInputError, argument_faults
from detent.core.tools.result import ResultError, ToolFault, ToolResult
from detent.core.tools.retries import Retries
from detent.core.tools.tool import Tool


class Research(TypedState):
    """The state of an agent."""

    reader = Replaced("Ada Lovelace")


def _positive(point: Point, attribute: object, value: int) -> None:
    if value < 0:
        raise ValueError(f"{value} is negative")


@frozen
class Point:
    """A record."""

    x: int = field(validator=_positive)


STATE = State(
    {"user_name": {"type": str}, "documents": {"type": list}, "unset": {"type": str}},
    {"user_name": "Alice Smith"},
)


@tool(inputs_from_state={"user_name": "user"})
def visit(at: Point, on: date, user: str, state: State, days: int = 1) -> str:
    return user


def invocation(made: Tool = visit, on_state: Any = STATE, **arguments: Any) -> Invocation:
    return Invocation(made, ToolCall(made.name, arguments), on_state)


VISIT: dict[str, Any] = {"at": {"x": 1}, "on": "2026-01-31"}


def test_arguments_are_converted_and_filled() -> None:
    """An attrs parameter gets an instance, and the state's are there."""
    given = invocation(**VISIT).arguments()
    state = given.pop("state")
    assert given == {"at": Point(1), "on": date(2026, 1, 31), "user": "Alice Smith"}
    assert isinstance(state, State)


def test_nobody_can_pass_what_the_state_fills() -> None:
    """Neither the model nor a human who changes its call."""
    given = invocation(**VISIT, user="Mallory", state={}).arguments()
    assert given["user"] == "Alice Smith"
    assert isinstance(given["state"], State)


def test_a_default_of_the_function_stays_when_the_state_has_nothing() -> None:
    """The key may be written to later."""

    @tool(inputs_from_state={"unset": "user"})
    def greet(user: str = "you") -> str:
        return user

    assert invocation(greet).arguments() == {}


def test_a_parameter_that_needs_a_value_says_so() -> None:
    """Before the function runs; the model may call first what writes it."""

    @tool(inputs_from_state={"unset": "user"})
    def greet(user: str) -> str:
        return user

    call = invocation(greet)
    with pytest.raises(MissingInputError) as caught:
        call.arguments()
    assert call.fault(caught.value) == ToolFault(
        "missing_input",
        "Tool 'greet' was not run: it needs 'user', which is taken from the state key 'unset', and "
        "nothing has been written to that yet",
    )


def test_an_injected_key_gives_its_default() -> None:
    """A typed key always has a value."""

    @tool
    def greet(reader: str = inject(Research.reader)) -> str:
        return reader

    assert invocation(greet, Research()).arguments() == {"reader": "Ada Lovelace"}


def test_what_a_class_refuses_is_told_for_every_argument() -> None:
    """Before the function runs."""
    call = invocation(at={"x": -1}, on="2026-99-99")
    with pytest.raises(ConversionError) as caught:
        call.arguments()
    with pytest.raises(ValueError, match="month") as of_python:  # each Python has its own words
        date.fromisoformat("2026-99-99")
    assert call.fault(caught.value) == ToolFault(
        "invalid_arguments",
        "Tool 'visit' was not run: 'at' cannot be used: -1 is negative; "
        f"'on' cannot be used: {of_python.value}",
    )


def test_what_the_function_wrote_comes_before_what_its_result_stores() -> None:
    """In the order in which it happened."""

    @tool(outputs_to_state={"documents": {}})
    def find(state: State) -> list[str]:
        return ["b"]

    call = invocation(find)
    cast(State, call.arguments()["state"]).set("documents", ["a"])
    assert call.result(["b"]).writes == (Write("documents", ["a"]), Write("documents", ["b"]))


def test_a_call_that_fails_writes_nothing() -> None:
    """And its state can no longer be used."""
    call = invocation(**VISIT)
    state = cast(State, call.arguments()["state"])
    state.set("documents", ["a"])
    call.fault(ValueError("no"))
    with pytest.raises(StateError, match="has ended"):
        state.set("documents", ["b"])


def test_a_fault_has_no_value_that_came_from_the_state() -> None:
    """Neither an injected one nor, where the tool gets the state, any other."""
    error = KeyError("Alice Smith has no key 'sk-12345'")
    secret = STATE.set("documents", [{"key": "sk-12345"}])
    assert invocation(on_state=secret, **VISIT).fault(error).message == (
        "Failed to invoke Tool `visit` with parameters {'at': {'x': 1}, 'on': '2026-01-31'}. "
        "Error: KeyError: \"<user_name> has no <documents> '<documents>'\""
    )


def test_a_lookup_that_fails_says_so_without_a_value_from_the_state() -> None:
    """Nobody knows how the call went, and it is not the model's to try again."""
    fault = invocation(**VISIT).unknown(LookupError("no visit of Alice Smith"))

    assert (fault.kind, fault.retryable) == ("unknown_outcome", False)
    assert fault.message == wording.lookup_failed("LookupError: no visit of <user_name>")
    assert "looking it up failed with LookupError" in fault.message
    assert isinstance(fault.cause, LookupError)


def test_a_result_that_is_left_out_says_whose_it_was_and_how_long() -> None:
    """The model can ask for it again."""
    assert wording.result_left_out("visit", 12345) == (
        "[The result of tool 'visit' is left out here: 12,345 characters.]"
    )


def test_a_fault_may_name_what_the_model_sent() -> None:
    """It knows that."""

    @tool(inputs_from_state={"user_name": "user"})
    def greet(name: str, user: str) -> str:
        return name

    fault = invocation(greet, name="Alice Smith").fault(ValueError("no Alice Smith"))
    assert fault.message.endswith("Error: ValueError: no Alice Smith")


def test_a_group_of_exceptions_is_told_one_by_one() -> None:
    """What a task group raises says nothing by itself."""
    group = ExceptionGroup("several", [ValueError("a"), ExceptionGroup("more", [TypeError("b")])])
    assert invocation().fault(group).message.endswith("Error: ValueError: a; TypeError: b")


def test_a_fault_names_the_class_of_an_exception_whatever_the_state_holds() -> None:
    """The name of a class came from nowhere else; and an exception may fail to print itself."""

    class ValueLostError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    state = STATE.set("user_name", "Value")
    call = invocation(on_state=state, **VISIT)
    assert call.fault(ValueError("Value")).message.endswith("Error: ValueError: <user_name>")
    assert call.fault(ValueLostError()).message.endswith("ValueLostError: it cannot be shown")


def test_what_stands_in_the_conversation_is_no_secret() -> None:
    """The model has read it."""

    @tool(inputs_from_state={"messages": "said"})
    def last(said: list[ChatMessage]) -> str:
        return str(said)

    state = STATE.set("messages", [ChatMessage.from_user("good day")])
    fault = invocation(last, state).fault(ValueError("'good day' by the user"))
    assert fault.message.endswith("Error: ValueError: 'good day' by the user")


def test_a_fault_says_whether_another_attempt_makes_sense() -> None:
    """As the tool's author sees it."""
    retried = tool(name="get", retries=Retries(1, on=(ConnectionError,)))(lambda: "x")
    assert invocation(retried).fault(ConnectionResetError("x")).retryable
    assert not invocation(retried).fault(ValueError("x")).retryable
    assert not invocation(retried).fault(ResultError("x")).retryable


def test_a_result_that_cannot_be_used_is_a_fault() -> None:
    """The message says all there is to say."""
    assert invocation().fault(ResultError("The result of tool 'x' …")) == ToolFault(
        "bad_result", "The result of tool 'x' …"
    )


def test_a_result_that_the_state_does_not_take_is_a_fault() -> None:
    """Without what the state holds under the tool's keys."""

    @tool(outputs_to_state={"user_name": {}})
    def rename(to: str) -> str:
        return to

    error, result = StateError("the handler: 'Alice Smith' may stay"), ToolResult("Bob")
    fault = invocation(rename, to="Bob").unmerged(error, result)
    assert fault == ToolFault(
        "unmergeable",
        "The result of tool 'rename' was not stored: the handler: '<user_name>' may stay",
    )
    quoting = ToolResult("S3CRET", display="<pin>")
    fault = invocation(rename, to="Bob").unmerged(StateError("got 'S3CRET'"), quoting)
    assert fault.message == (
        "The result of tool 'rename' was not stored: it does not fit, and is not shown: some of it "
        "is secret"
    )


def test_what_is_written_to_a_secret_key_is_shown_to_nobody() -> None:
    """Whether it fits or not; of an error that tells nothing of it the model is told."""

    @tool(outputs_to_state={"pin": {}, "user_name": {"source": "name"}})
    def fetch() -> dict[str, object]:
        return {"pin": "1234-5678", "name": "Bob"}

    schema = {"pin": {"type": str}, "user_name": {"type": str}}
    state = with_secret_keys(State(schema), frozenset({"pin"}))
    call = invocation(fetch, on_state=state)
    result = call.result({"pin": "1234-5678", "name": "Bob"})

    assert "1234" not in str(result.display)
    assert [write.is_secret for write in result.writes] == [True, False]
    with pytest.raises(StateTypeError) as refused:
        state.update(result.writes)
    assert call.unmerged(refused.value, result).message == (
        "The result of tool 'fetch' was not stored: state key 'pin' holds str, got FrozenDict, "
        "which is not shown: it is secret"
    )
    plain = call.displayed(ToolResult("1234-5678", (Write("user_name", "Bob"),)))
    assert plain == ToolResult("1234-5678", (Write("user_name", "Bob"),))


class Stop(TypedDict):
    """A typed dict."""

    place: str
    at: Point


class Leg(NamedTuple):
    """A named tuple."""

    start: Stop
    end: Stop


@dataclass
class Trip:
    """A dataclass."""

    legs: list[Leg]
    people: Annotated[int, Ge(1)] = 1
    kind: Literal["train", "bus"] | None = None


@tool
def book(trip: Trip, name: str, rate: float = 1.0) -> str:
    return str(trip)


def test_types_are_looked_at_once() -> None:
    """A call asks neither the schema nor the annotations again, however deep they are."""
    stop = {"place": "Rome", "at": {"x": 1}}
    trip = {"legs": [[stop, stop]], "people": 2, "kind": "bus"}
    sent = invocation(book, trip=trip, name="x", rate=0.5)
    sent.arguments()
    asked: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        asked.add(frame.f_globals.get("__name__", ""))

    sys.setprofile(note)
    try:
        faults = argument_faults(sent.call, book)
        arguments = sent.arguments()
    finally:
        sys.setprofile(None)
    assert faults == []
    leg = Leg(*[cast(Stop, {"place": "Rome", "at": Point(1)})] * 2)
    assert arguments["trip"] == Trip([leg], 2, "bus")
    assert "detent.core.schema.conversion" in asked
    looking = {"inspect", "json_schema", "schemas", "fields", "parameters"}
    assert not {name.rpartition(".")[-1] for name in asked} & looking


def test_a_function_that_wants_the_key_of_its_call_gets_it() -> None:
    """So that what it calls can tell a repeated call."""

    @tool
    def pay(amount: int, key: IdempotencyKey) -> str:
        return f"{amount} by {key}"

    arguments = Invocation(
        pay, ToolCall("pay", {"amount": 3}), STATE, IdempotencyKey("r/1/0")
    ).arguments()

    assert arguments == {"amount": 3, "key": "r/1/0"}


def test_a_function_that_wants_to_know_how_often_its_run_changed_hands_is_told() -> None:
    """So that what it calls can refuse a process that is out of date."""

    @tool
    def pay(amount: int, token: FencingToken) -> str:
        return f"{amount} by {token}"

    call = ToolCall("pay", {"amount": 3})

    assert Invocation(pay, call, STATE).arguments() == {"amount": 3, "token": 0}
    arguments = Invocation(pay, call, STATE, epoch=2).arguments()
    assert arguments == {"amount": 3, "token": FencingToken(2)}
    assert "token" in pay.hidden


def test_what_a_function_raises_is_a_fault_of_its_own_kind() -> None:
    """Another one than arguments that do not fit."""
    fault = invocation(at={"x": 1}, on="2026-01-31").fault(ValueError("no"))

    assert fault.kind == "raised"
    assert fault.message.endswith("Error: no")


def test_a_tool_that_does_not_know_itself_says_so() -> None:
    """In its own words, or in ours."""
    said = invocation().fault(OutcomeUnknownError("the bank is silent"))
    assert said == ToolFault("unknown_outcome", "the bank is silent")
    assert invocation().fault(OutcomeUnknownError()).message == wording.OUTCOME_UNKNOWN
