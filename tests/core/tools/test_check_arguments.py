"""What a model passes is checked before anything runs."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel
from returns.result import Failure, Success

from detent import SecretParameter
from detent.adapters.tools.decorator import tool
from detent.core.chat.messages import ToolCall
from detent.core.state.state import State
from detent.core.tools.invocation import argument_faults, check_arguments, without_hidden
from detent.core.tools.result import ToolFault
from detent.core.tools.tool import Tool


@tool(inputs_from_state={"user_name": "user"})
def search(query: str, user: str, state: State, limit: int = 3) -> str:
    return query


def test_what_the_model_sends_for_a_hidden_parameter_is_dropped() -> None:
    """The state fills it, whatever the model thinks."""
    sent = {"query": "cats", "user": "Eve", "state": {}}
    assert without_hidden(ToolCall("search", sent), search).arguments == {"query": "cats"}


def test_a_call_that_sends_nothing_hidden_stays_as_it_is() -> None:
    """It is not even copied."""
    call = ToolCall("search", {"query": "cats"})
    assert without_hidden(call, search) is call


def test_each_fault_of_the_arguments_is_one_sentence() -> None:
    """Against what the model was shown."""
    call = ToolCall("search", {"limit": "3", "querry": "cats"})
    assert argument_faults(call, search) == [
        "'limit' must be an integer, got \"3\"",
        "'querry' is not known; did you mean 'query'?",
        "'query' is missing",
    ]
    assert argument_faults(ToolCall("search", {"query": "cats"}), search) == []


def test_arguments_that_are_no_object_are_shown_to_the_model() -> None:
    """It sees what it wrote."""
    call = ToolCall("search", unreadable='{"query": ')
    assert argument_faults(call, search) == ['the arguments are not a JSON object: {"query": ']


def test_a_hand_written_schema_is_checked_like_any_other() -> None:
    """What it does not forbid is let through."""
    made = Tool("t", "", {"type": "object", "properties": {"n": {"minimum": 1}}}, print)
    assert argument_faults(ToolCall("t", {"n": 0, "more": 1}), made) == [
        "'n' must be at least 1, got 0"
    ]


def test_a_call_fits_or_there_is_a_fault_for_the_model() -> None:
    """Nothing is raised: what a model sends is no error of the program."""
    call = ToolCall("search", {"query": "cats"})
    assert check_arguments(call, search) == Success(True)  # noqa: FBT003 - of returns
    text = "Tool 'search' was not run: 'query' must be a string, got 1"
    wrong = check_arguments(ToolCall("search", {"query": 1}), search)
    assert wrong == Failure(ToolFault("invalid_arguments", text))
    assert str(wrong.failure().cause) == "'query' must be a string, got 1"


class Left(BaseModel):
    """One of two that all fit, and say nothing of what is left out."""

    parts: list[Left | Right]


class Right(BaseModel):
    """The other."""

    parts: list[Left | Right]


def test_a_call_that_takes_too_long_to_read_is_refused_before_it_runs() -> None:
    """Nobody is asked about what cannot run."""

    @tool
    def keep(tree: Left, name: str) -> str:
        """Keep it."""
        return name

    @tool
    def log_in(tree: Left, password: Annotated[str, SecretParameter]) -> str:
        """Keep it too."""
        return password

    tree: dict[str, object] = {"parts": []}
    assert argument_faults(ToolCall("keep", {"tree": tree, "name": "a"}), keep) == []
    for _ in range(40):
        tree = {"parts": [tree]}
    (fault,) = argument_faults(ToolCall("keep", {"tree": tree, "name": "a"}), keep)
    assert fault.startswith("'tree' cannot be used: the schema is at fault: its unions stand in")
    assert argument_faults(ToolCall("log_in", {"tree": tree, "password": "a"}), log_in)
    assert list(keep.excesses) == ["tree"]
    assert not search.excesses
