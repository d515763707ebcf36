"""What people found who looked for ways around rules and for secrets in print."""

from __future__ import annotations

import math
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from enum import Enum
from typing import Any

import pytest
from attrs import evolve, field, frozen

from detent import (
    ChatMessage,
    ConfirmationUIResult,
    Limits,
    State,
    Tool,
    ToolCall,
    tool,
)
from detent.approvals import (
    Allow,
    Ask,
    CallRule,
    Confirmed,
    Deny,
    RuleList,
    ToolExecutionDecision,
)
from detent.core.run.run import AwaitingDecision, Ready
from detent.core.tools.defaults import with_defaults
from detent.core.values.frozen import FrozenDict
from detent.machine import (
    AgentSpec,
    CallRef,
    HumanDecided,
    Judged,
    ModelReplied,
    Resumed,
    Run,
    ToolStarted,
    start,
    step,
)
from detent.models import ChatReply, Usage

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


@frozen
class Card:
    """A way to pay."""

    number: str
    limit: int = 1_000_000


@frozen
class Transfer:
    """Another one."""

    iban: str
    notes: list[str] = field(factory=list)
    urgent: bool = True


@dataclass
class Cash:
    """A third."""

    coins: list[int] = dataclass_field(default_factory=list)
    bills: list[int] = dataclass_field(default_factory=lambda: [500])


@tool
def settle(by: Card | Transfer | None, rest: list[Card | Transfer] | Cash) -> str:
    """Settle."""
    return f"{by} {rest}"


def test_defaults_of_what_may_be_several_things_are_those_of_what_it_is_read_as() -> None:
    """Empty lists that a factory makes as well; what else one makes the model must say."""
    iban, number = {"iban": "DE"}, {"number": "4"}
    whole = {"iban": "DE", "notes": [], "urgent": True}, {"number": "4", "limit": 1_000_000}

    def filled(by: Any, rest: Any) -> Any:
        return with_defaults(ToolCall("settle", {"by": by, "rest": rest}), settle)

    assert filled(iban, [number, iban]) == {"by": whole[0], "rest": [whole[1], whole[0]]}
    paid = {"by": whole[1], "rest": {"bills": [500], "coins": []}}
    assert filled(number, {"bills": [500]}) == paid
    assert filled(number, {}) == {"by": whole[1], "rest": {}}, "which does not fit"
    assert filled(None, [{"iban": 1}]) == {"by": None, "rest": [{"iban": 1}]}


def test_options_that_stand_under_names_are_found() -> None:
    """As other libraries write schemas."""
    options = {"oneOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}]}
    named = {
        "a": {"required": ["x"], "properties": {"x": {}, "n": {"default": 1}}},
        "b": {"required": ["y"], "properties": {"y": {}, "m": {"default": 2}}},
    }
    whole = {"type": "object", "properties": {"by": options}, "$defs": named}
    loose = Tool("pay", "", whole, lambda **given: str(given))

    assert with_defaults(ToolCall("pay", {"by": {"y": 0}}), loose) == {"by": {"y": 0, "m": 2}}


def test_of_a_single_option_the_defaults_are_shown() -> None:
    """Whether or not the call fits it."""
    part = {"anyOf": [{"properties": {"n": {"default": 1}}}]}
    loose = Tool(
        "pay", "", {"type": "object", "properties": {"by": part}}, lambda **given: str(given)
    )

    assert with_defaults(ToolCall("pay", {"by": {"y": 0}}), loose) == {"by": {"y": 0, "n": 1}}


@pytest.mark.parametrize(("attempts", "asked"), [(None, False), (1, True), (2, False)])
def test_a_yes_for_one_attempt_is_none_for_another_after_a_crash(
    attempts: int | None, *, asked: bool
) -> None:
    """A tool that may run again without harm runs again; but not beyond what was confirmed."""
    loose, ask = evolve(LOOSE, on_unknown="rerun"), Ask(attempts=attempts)
    spec = AgentSpec(
        State({}),
        FrozenDict({"pay": loose}),
        policies=FrozenDict({"pay": lambda *_: ask}),
    )
    ref = CallRef(1, 0)
    run = start(spec, [ChatMessage.from_user("pay")], run_id="r")
    reply = ChatReply(ChatMessage.from_assistant(tool_calls=[ToolCall("pay", {}, "c")]))
    run = step(spec, step(spec, run, ModelReplied(1, 1, reply)), Judged(ref, ask))
    (waiting,) = run.slots
    assert isinstance(waiting.status, AwaitingDecision)
    yes = HumanDecided(ref, waiting.status.digest, Confirmed())

    run = step(spec, step(spec, run, yes), ToolStarted(ref, 1))
    run = step(spec, run, Resumed("crash 1"))

    status = run.slots[0].status
    assert isinstance(status, AwaitingDecision) == asked
    if attempts == 2:
        assert status == Ready(2)  # and the one after that is asked about
        run = step(spec, step(spec, run, ToolStarted(ref, 2)), Resumed("crash 2"))
        assert isinstance(run.slots[0].status, AwaitingDecision)


def test_a_price_that_is_no_number_leaves_no_room() -> None:
    """To compare with it is always false."""
    limits = Limits(max_cost=1.0, price=lambda reply: math.nan)

    assert limits.spent(0, Usage(), math.nan) == "max_cost"
    assert limits.spent(0, Usage(), 0.5) is None
