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
    Answers,
    Approvers,
    Ask,
    CallRule,
    Confirmed,
    Decision,
    Deny,
    Modified,
    RuleList,
    ToolExecutionDecision,
    Verdict,
)
from detent.core.run.run import AwaitingDecision, AwaitingPolicy, Ready
from detent.core.tools.defaults import with_defaults
from detent.core.values.frozen import FrozenDict
from detent.machine import (
    AgentSpec,
    CallRef,
    GrantRevoked,
    HumanDecided,
    Judge,
    Judged,
    ModelReplied,
    Resumed,
    Run,
    ToolFault,
    ToolRaised,
    ToolStarted,
    due,
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
        ({"patternProperties": {"^eur$": {"maximum": 100}}}, 1_000_000),
        ({"propertyNames": {"maxLength": 3}}, "1000000"),
        ({"dependentRequired": {"eur": ["to"]}}, 1_000_000),
        ({"dependentSchemas": {"eur": {"maxProperties": 1}}}, [1_000_000]),
        ({"contentEncoding": "base64"}, 1_000_000),
    ],
)
def test_what_a_pattern_says_nothing_of_is_not_allowed_by_it(pattern: Any, value: Any) -> None:
    """A schema lets a text pass that has a `maximum`; a list of what is allowed must not."""
    rules = RuleList([CallRule("allow", arguments={"amount": pattern})], otherwise="deny")

    assert isinstance(rules(ToolCall("pay", {"amount": value}), LOOSE, run_of()), Deny)


SMALL = {"properties": {"eur": {"maximum": 100}}}
TO_ANN = {"properties": {"to": {"const": "ann"}}}
LARGE = {"properties": {"eur": {"exclusiveMinimum": 100}}}
TURNED = [
    {"if": SMALL, "else": TO_ANN},
    {"if": SMALL, "then": True, "else": False},
    {"if": LARGE, "then": TO_ANN},
    {"allOf": [{"if": SMALL, "else": TO_ANN}]},
    {"oneOf": [LARGE, {"required": ["to"]}]},
    {"not": {"not": SMALL}},
    {"not": {"allOf": [{"not": SMALL}, {"not": TO_ANN}]}},
    {"not": {"if": SMALL, "then": False, "else": {"not": TO_ANN}}},
    {"$ref": "#/$defs/a", "$defs": {"a": {"not": {"$ref": "#/$defs/b"}}, "b": {"not": SMALL}}},
    {"properties": {"eur": {"type": ["number", "string"], "maximum": 100}}},
    {"properties": {"all": {"contains": {"minimum": 101}, "maxContains": 0, "minContains": 0}}},
]


@pytest.mark.parametrize("pattern", TURNED)
def test_what_a_pattern_says_nothing_of_is_not_allowed_by_turning_it_round(pattern: Any) -> None:
    """The less a condition fits, or an option, the more passes by it."""
    rules = RuleList([CallRule("allow", arguments={"amount": pattern})], otherwise="deny")

    def is_allowed(eur: object, to: str) -> bool:
        value = {"eur": eur, "to": to, "all": [eur]}
        return rules(ToolCall("pay", {"amount": value}), LOOSE, run_of()) == Allow()

    assert not is_allowed("5000", "mallory")
    assert not is_allowed(5000, "mallory")
    assert is_allowed(5, "mallory")


@pytest.mark.parametrize(
    ("pattern", "fitting"),
    [
        ({"not": {"maximum": 100}}, "5000"),
        ({"if": {"minimum": 101}, "then": True, "else": False}, "5000"),
        ({"if": {"maximum": 100}, "then": False, "else": True}, "5000"),
        ({"oneOf": [{"maximum": 100}, {"minimum": 50}]}, "5000"),
        ({"contains": {"maximum": 100}, "minContains": 0, "maxContains": 0}, ["5000"]),
        ({"contains": {"minimum": 100}, "minContains": 2, "maxContains": 3}, ["5000", "5"]),
    ],
)
@pytest.mark.parametrize("effect", ["deny", "ask"])
def test_what_is_denied_need_not_be_of_its_type(effect: Any, pattern: Any, fitting: Any) -> None:
    """Of what a pattern says nothing of, it may be that it fits."""
    rules = RuleList([CallRule(effect, arguments={"amount": pattern})], otherwise="allow")
    verdict = rules(ToolCall("pay", {"amount": fitting}), LOOSE, run_of())
    assert isinstance(verdict, Deny if effect == "deny" else Ask)
    within = [5] if isinstance(fitting, list) else 40
    assert rules(ToolCall("pay", {"amount": within}), LOOSE, run_of()) == (
        verdict if "oneOf" in pattern else Allow()
    )


def test_a_pattern_that_leads_back_to_itself_is_read_once_each_way() -> None:
    """However deep the value is, each part of it is of its type."""
    chain = {"properties": {"eur": {"maximum": 100}, "next": {"not": {"$ref": "#/$defs/wrong"}}}}
    wrong = {"not": {"$ref": "#/$defs/chain"}}
    pattern = {"$ref": "#/$defs/chain", "$defs": {"chain": chain, "wrong": wrong}}
    rules = RuleList([CallRule("allow", arguments={"amount": pattern})], otherwise="deny")

    def verdict(last: object) -> Verdict:
        value = {"eur": 1, "next": {"eur": 1, "next": {"eur": last}}}
        return rules(ToolCall("pay", {"amount": value}), LOOSE, run_of())

    assert verdict(1) == Allow()
    assert isinstance(verdict("5000"), Deny)


def test_a_type_that_no_keyword_speaks_of_passes_where_it_is_named() -> None:
    """Nobody can have meant another value of it."""
    pattern = {"type": ["number", "null", "string"], "maximum": 100}
    rules = RuleList([CallRule("allow", arguments={"amount": pattern})], otherwise="deny")
    said = {
        value: rules(ToolCall("pay", {"amount": value}), LOOSE, run_of()) for value in (None, 5)
    }
    assert said == {None: Allow(), 5: Allow()}


def test_a_pattern_of_what_is_allowed_speaks_of_one_type_at_once() -> None:
    """A text would pass by what is said of texts, whatever is said of numbers."""
    mixed = {"properties": {"eur": {"maximum": 100, "pattern": "^[0-9]+$"}}}
    with pytest.raises(ValueError, match=r"'maximum' \(number\) and 'pattern' \(string\).*'anyOf'"):
        CallRule("allow", arguments={"amount": mixed})
    with pytest.raises(ValueError, match="the pattern of 'mode' speaks of several types"):
        CallRule("allow", state={"mode": {"not": mixed}})
    CallRule("deny", arguments={"amount": mixed})


@pytest.mark.parametrize(
    "pattern",
    [
        {"max": 100},
        {"lte": 100},
        {"force": False},
        {"then": {"maximum": 100}},
        {"minContains": 2},
        {"items": {"max": 100}},
        {"additionalProperties": False, "max": 100},
        {"dependencies": {}},
    ],
)
def test_a_word_that_says_nothing_is_no_pattern(pattern: Any) -> None:
    """It would fit everything, and a rule that allows by it would allow everything."""
    with pytest.raises(ValueError, match="says nothing there"):
        CallRule("allow", arguments={"amount": pattern})


def test_a_rule_about_no_tool_is_refused() -> None:
    """It would deny nothing, and nobody would be told."""
    with pytest.raises(ValueError, match="'tools' names none"):
        CallRule("deny", tools=[])


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


WIRED = evolve(LOOSE, inputs_from_state={"account": "account"})
ASKING: AgentSpec[State] = AgentSpec(
    State({"account": {"type": str}}).set("account", "Ann"),
    FrozenDict({"pay": WIRED}),
    policies=FrozenDict({"pay": lambda *_: Ask()}),
)
REVEALING = Ask(reveals=("account",))


def asked_about(*questions: Ask) -> Run[State]:
    """A run whose model has called a tool as often, each time with a question."""
    calls = [ToolCall("pay", {"amount": 5}, f"c{place}") for place, _ in enumerate(questions)]
    reply = ChatReply(ChatMessage.from_assistant(tool_calls=calls))
    run = start(ASKING, [ChatMessage.from_user("pay")], run_id="r", at=0.0)
    run = step(ASKING, run, ModelReplied(1, 1, reply))
    for place, question in enumerate(questions):
        run = step(ASKING, run, Judged(CallRef(1, place), question, 0.0))
    return run


def said_to(run: Run[State], place: int, decision: Decision) -> Run[State]:
    """The run after a human has decided about a call."""
    status = run.slots[place].status
    assert isinstance(status, AwaitingDecision)
    return step(ASKING, run, HumanDecided(CallRef(1, place), status.digest, decision, at=0.0))


def test_what_is_remembered_answers_no_open_question_that_shows_more() -> None:
    """Whoever has confirmed the first call has not seen whose account it is."""
    run = said_to(asked_about(Ask(), REVEALING, Ask()), 0, Confirmed("tool"))

    assert [type(slot.status) for slot in run.slots] == [Ready, AwaitingDecision, Ready]
    run = said_to(run, 1, Confirmed())
    assert run.slots[1].status == Ready()


def test_what_was_let_run_by_one_yes_is_not_held_by_another_that_was_none_for_it() -> None:
    """The yes that has let it run is revoked; that which is left was given for less."""
    run = said_to(asked_about(Ask(), REVEALING, REVEALING), 0, Confirmed("tool"))
    run = said_to(run, 1, Confirmed("tool"))
    assert run.slots[2].status == Ready()
    assert [one for one in due(ASKING, run) if isinstance(one, Judge)] == []

    run = step(ASKING, run, GrantRevoked(CallRef(1, 1)))

    (judge,) = [one for one in due(ASKING, run) if isinstance(one, Judge)]
    assert judge.ref == CallRef(1, 2)


@pytest.mark.parametrize(
    "question",
    [
        REVEALING,
        Ask(answers=Answers(confirm=False)),
        Ask(answers=Answers(modify=())),
        Ask(approvers=Approvers(roles=("finance",))),
    ],
)
def test_a_change_is_asked_about_where_the_changed_call_wants_more(question: Ask) -> None:
    """What a human makes of a harmless call may be one that nobody may make of it."""
    run = said_to(asked_about(Ask()), 0, Modified({"amount": 5000}))
    assert run.slots[0].status == AwaitingPolicy()

    run = step(ASKING, run, Judged(CallRef(1, 0), question, 0.0))

    assert isinstance(run.slots[0].status, AwaitingDecision)


def test_a_change_counts_for_no_longer_and_no_more_than_the_changed_call_may() -> None:
    """The question of the call as it was may let more attempts begin, and for a longer time."""
    run = said_to(asked_about(Ask(attempts=3, expires_s=60.0)), 0, Modified({"amount": 5000}))

    run = step(ASKING, run, Judged(CallRef(1, 0), Ask(attempts=1, expires_s=10.0), 0.0))

    (slot,) = run.slots
    assert slot.status == Ready()
    assert slot.clearance is not None
    assert slot.clearance.expires_at == 10.0
    assert slot.clearance.covers(1)
    assert not slot.clearance.covers(2)


@pytest.mark.parametrize("verdict", [Allow(), Ask()])
def test_a_yes_after_a_crash_that_has_lapsed_leaves_the_question(verdict: Verdict) -> None:
    """Nobody knows what the call has done: no policy, and no yes from before, begins it again."""
    first = ToolStarted(CallRef(1, 0), 1, at=0.0)
    run = step(ASKING, said_to(asked_about(Ask(expires_s=60.0)), 0, Confirmed("tool")), first)
    run = step(ASKING, run, Resumed("crash", 0.0))
    trouble = run.slots[0].status
    assert isinstance(trouble, AwaitingDecision)
    run = said_to(run, 0, Confirmed())
    assert run.slots[0].status == Ready(2)
    run = step(ASKING, run, ToolStarted(CallRef(1, 0), 2, at=99.0))
    assert run.slots[0].status == AwaitingPolicy()

    run = step(ASKING, run, Judged(CallRef(1, 0), verdict, 99.0))

    status = run.slots[0].status
    assert isinstance(status, AwaitingDecision)
    assert (status.after, status.trouble) == (trouble.after, trouble.trouble)
    assert status.digest != trouble.digest


def crashed(run: Run[State], decision: Decision) -> Run[State]:
    """The run after a crash in its first call, about which a human has decided then."""
    run = step(ASKING, said_to(run, 0, Confirmed()), ToolStarted(CallRef(1, 0), 1, at=0.0))
    return said_to(step(ASKING, run, Resumed("crash", 0.0)), 0, decision)


def test_a_call_that_lapses_again_and_again_is_remembered_once() -> None:
    """Each yes to it says the same, and the last one counts: a run does not grow by them."""
    run = crashed(asked_about(Ask(expires_s=60.0)), Confirmed("tool"))
    for _ in range(3):
        run = step(ASKING, run, ToolStarted(CallRef(1, 0), 2, at=99.0))
        run = step(ASKING, run, Judged(CallRef(1, 0), Ask(expires_s=60.0), 0.0))
        run = said_to(run, 0, Confirmed("tool"))

    assert len(run.decisions) == 5
    assert len(run.grants) == 1


@pytest.mark.parametrize("verdict", [Allow(), Ask()])
def test_a_change_after_a_crash_is_enough(verdict: Verdict) -> None:
    """The human who made it was asked about the crash."""
    run = crashed(asked_about(Ask()), Modified({"amount": 1}))

    run = step(ASKING, run, Judged(CallRef(1, 0), verdict, 0.0))

    assert run.slots[0].status == Ready(2)


def test_what_has_begun_again_after_a_crash_is_a_call_like_any_other() -> None:
    """That attempt has failed, and is known: what comes next is for the policy to judge."""
    ref, fault = CallRef(1, 0), ToolFault("raised", "broke off", retryable=True)
    spec = evolve(ASKING, tools=FrozenDict({"pay": evolve(WIRED, retries=2)}))
    run = step(spec, crashed(asked_about(Ask()), Confirmed()), ToolStarted(ref, 2, at=0.0))
    run = step(spec, run, ToolRaised(ref, 2, fault))
    assert run.slots[0].status == Ready(3)
    run = evolve(run, state=run.state.set("account", "Bob"))
    (judge,) = [one for one in due(spec, run) if isinstance(one, Judge)]

    run = step(spec, run, Judged(ref, Allow(), 0.0, binding=judge.binding))

    assert run.slots[0].status == Ready(3)


def test_a_price_that_is_no_number_leaves_no_room() -> None:
    """To compare with it is always false."""
    limits = Limits(max_cost=1.0, price=lambda reply: math.nan)

    assert limits.spent(0, Usage(), math.nan) == "max_cost"
    assert limits.spent(0, Usage(), 0.5) is None
