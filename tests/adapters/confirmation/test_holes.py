"""What people found who looked for ways around rules and for secrets in print."""

from __future__ import annotations

from enum import Enum
from typing import Any

import pytest
from attrs import frozen

from detent import ChatMessage, ConfirmationUIResult, State, Tool, ToolCall, tool
from detent.approvals import Allow, Ask, CallRule, Deny, RuleList, ToolExecutionDecision
from detent.core.run.run import AwaitingDecision
from detent.core.tools.defaults import with_defaults
from detent.machine import AgentSpec, CallRef, Judged, Run, start

LOOSE = Tool("pay", "", {"type": "object"}, lambda **given: str(given))


def run_of(state: State | None = None) -> Run[State]:
    """A run with a state."""
    return start(AgentSpec(state or State({})), [ChatMessage.from_user("pay")], run_id="r")


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ({"maximum": 100}, "1000000"),
        ({"anyOf": [{"maximum": 100}, {"const": "all"}]}, "1000000"),
        ({"properties": {"eur": {"maximum": 100}}}, {"eur": "1000000"}),
        ({"properties": {"eur": {"maximum": 100}}}, [1_000_000]),
        ({"items": {"maximum": 100}}, ["1000000"]),
        ({"additionalProperties": {"maximum": 100}}, {"eur": "1000000"}),
        ({"pattern": "^a"}, 7),
    ],
)
def test_what_a_pattern_says_nothing_of_is_not_allowed_by_it(pattern: Any, value: Any) -> None:
    """A schema lets a text pass that has a `maximum`; a list of what is allowed must not."""
    rules = RuleList([CallRule("allow", arguments={"amount": pattern})], otherwise="deny")

    assert isinstance(rules(ToolCall("pay", {"amount": value}), LOOSE, run_of()), Deny)


def test_what_a_pattern_speaks_of_is_allowed_by_it() -> None:
    """As before."""
    rules = RuleList([CallRule("allow", arguments={"amount": {"maximum": 100}})], otherwise="deny")

    assert rules(ToolCall("pay", {"amount": 100}), LOOSE, run_of()) == Allow()
    assert rules(ToolCall("pay", {"amount": 99.5}), LOOSE, run_of()) == Allow()


class Stage(Enum):
    """Where the money is."""

    LIVE = "live"
    TEST = "test"


@pytest.mark.parametrize("pattern", ["live", "l*", {"const": "live"}])
def test_a_state_that_is_an_enum_fits_by_its_value(pattern: Any) -> None:
    """A rule is plain JSON: there is no other way to write it."""
    rules = RuleList([CallRule("deny", state={"stage": pattern})], otherwise="allow")
    state = State({"stage": {"type": Stage}})

    for stage, said in ((Stage.LIVE, Deny), (Stage.TEST, Allow)):
        run = run_of(state.set("stage", stage))
        assert isinstance(rules(ToolCall("pay", {}), LOOSE, run), said)


@pytest.mark.parametrize(
    "value",
    [
        Judged(CallRef(1, 0), Ask("pin is 4711")),
        Judged(CallRef(1, 0), Deny("pin is 4711")),
        AwaitingDecision("d", ask=Ask("pin is 4711")),
        ToolExecutionDecision("pay", execute=True, final_tool_params={"pin": "4711"}),
        ConfirmationUIResult("modify", new_tool_params={"pin": "4711"}),
    ],
)
def test_what_may_quote_a_secret_does_not_print_it(value: object) -> None:
    """None of them knows the tool, which says what is secret."""
    assert "4711" not in repr(value)


@frozen
class Line:
    """A part of an order."""

    to: str
    amount: int = 1_000_000


@tool
def order(lines: dict[str, Line]) -> str:
    """Order."""
    return str(lines)


def test_defaults_in_the_values_of_a_mapping_are_shown_and_bound() -> None:
    """They are what will run."""
    call = ToolCall("order", {"lines": {"a": {"to": "Bob"}}})

    assert with_defaults(call, order) == {"lines": {"a": {"to": "Bob", "amount": 1_000_000}}}
