"""Attacks on defaults: what a call leaves out is what people were shown, or the model must say it.

Each test is called by the promise that it attacks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import count
from typing import Annotated, Any, Literal

import attrs
import pytest
from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    BeforeValidator,
    Field,
    RootModel,
    WrapValidator,
    create_model,
    field_validator,
)
from pydantic.dataclasses import dataclass as pydantic_dataclass

from detent import (
    Agent,
    AlwaysAskPolicy,
    AskOncePolicy,
    ChatMessage,
    MemoryJournal,
    Modified,
    ScriptedChatGenerator,
    Tool,
    ToolCall,
    ToolDefinitionError,
    WiringError,
    create_tool_from_function,
    tool,
)
from detent.approvals import Ask, AskWhen, CallRule, RuleList
from detent.core.machine.calls import change_faults

NUMBERS = count(1)


@dataclass
class Bill:
    """A dataclass with a default that code makes."""

    note: str = "hi"
    to: list[str] = field(default_factory=lambda: ["Mallory"])


@attrs.define
class Slip:
    """The same of attrs."""

    number: int = attrs.field(factory=lambda: next(NUMBERS))


class Form(BaseModel):
    """The same of pydantic."""

    to: list[str] = Field(default_factory=lambda: ["Mallory"])


@pydantic_dataclass
class Generated:
    """One whose default a function makes."""

    to: str = Field(default_factory=lambda: "Mallory")


@dataclass
class Plain:
    """What stands for those of its fields that are left out is always the same."""

    names: list[str] = field(default_factory=list)
    size: int = 7


@dataclass
class One:
    """One kind."""

    a: int = 1


@dataclass
class Two:
    """Another kind."""

    b: int = 2


def shown_and_run(kind: Any, sent: object) -> tuple[list[Any], list[Any], list[str]]:
    """What people are shown of a call, what runs once they confirm, and what the model is told."""
    ran: list[Any] = []

    def pay(order: Any) -> str:
        ran.append(order)
        return "paid"

    pay.__annotations__["order"] = kind
    made = create_tool_from_function(pay, description="Pay.")
    journal = MemoryJournal()
    options: Mapping[str, Any] = {
        "tools": [made],
        "journal": journal,
        "confirmation_strategies": {"pay": AlwaysAskPolicy()},
    }
    model = ScriptedChatGenerator(ToolCall("pay", {"order": sent}), "done")
    agent = Agent(chat_generator=model, **options)
    result = agent.run("go", run_id="r", raise_at_break_point=False)
    shown = [call.arguments["order"] for call in agent.pending("r")]
    for call in agent.pending("r"):
        agent.decide("r", call.confirm())
        result = agent.resume("r")
    told = [answer.text for one in result.messages for answer in one.tool_call_results]
    return shown, ran, told


@pytest.mark.parametrize("kind", [Bill, Slip, Form, Generated])
def test_what_code_will_make_is_not_left_to_it(kind: Any) -> None:
    """Nobody can be shown what a factory gives next time: the model must say it."""
    shown, ran, told = shown_and_run(kind, {})

    assert (shown, ran) == ([], [])
    assert "is missing" in told[0] or "required" in told[0]


def test_what_is_left_out_is_shown_as_it_will_be() -> None:
    """An empty list, a default, those of the items of a tuple, and of the right kind of a union."""
    assert shown_and_run(Plain, {})[:2] == ([{"names": [], "size": 7}], [Plain([], 7)])
    pair = shown_and_run(tuple[One, Two], [{}, {}])
    assert pair[:2] == ([[{"a": 1}, {"b": 2}]], [(One(1), Two(2))])
    assert shown_and_run(dict[str, int] | One, {})[:2] == ([{}], [{}])
    assert shown_and_run(One | dict[str, int], {"z": 1})[:2] == ([{"z": 1}], [{"z": 1}])
    each = shown_and_run(list[One | Two], [{}, {"b": 3}])
    assert each[:2] == ([[{"a": 1}, {"b": 3}]], [[One(1), Two(3)]])


class Card(BaseModel):
    """The first way to pay."""

    kind: Literal["card"] = "card"
    amount: int = 5


class Wire(BaseModel):
    """The other one, which pydantic prefers where there is an account."""

    kind: Literal["wire"] = "wire"
    amount: int = 9000
    iban: str = "DE0"


class Payment(BaseModel):
    """Either."""

    means: Card | Wire


class Aliased(BaseModel):
    """A field that has two names."""

    model_config = {"populate_by_name": True}

    payee: str = Field("Ann", alias="recipient")


def test_another_kind_than_the_one_that_was_shown_does_not_run() -> None:
    """Where the class could take what was written for several, the model must say which."""
    places = "'order.means.kind', 'order.means.amount', 'order.means.iban'"
    told = f"{places} must be said: what would be filled in"

    found = shown_and_run(Payment, {"means": {}})
    assert (found[0], found[1], told in found[2][0]) == ([], [], True)
    shown, ran, _ = shown_and_run(Payment, {"means": {"iban": "Mallory"}})  # only one has that
    assert shown == [{"means": {"iban": "Mallory", "kind": "wire", "amount": 9000}}]
    assert ran == [Payment(means=Wire(iban="Mallory"))]
    assert shown_and_run(Payment, {"means": {"iban": "Mallory", "kind": "card"}})[:2] == ([], [])


class Fewer(BaseModel):
    """Without what another one has."""

    to: str


class More(BaseModel):
    """With it."""

    to: str
    dry_run: bool


@dataclass
class Written:
    """A plain dataclass, of which pydantic drops what it does not know."""

    to: str


class Full(BaseModel):
    """Classes in all kinds of places."""

    inner: Fewer
    written: Written | None = None
    several: list[Fewer] = []
    named: dict[str, Fewer] = {}


class Keeping(BaseModel, extra="allow"):
    """What keeps all that it gets, beside a field of another name."""

    inner: Fewer | None = None
    to: str = Field("Ann", alias="payee")


ANN = {"to": "Ann"}
EXTRA = {"to": "Ann", "dry_run": True}


@pytest.mark.parametrize(
    ("kind", "sent", "place"),
    [
        (Fewer, EXTRA, "order.dry_run"),
        (Fewer | None, EXTRA, "order.dry_run"),
        (list[Fewer], [EXTRA], "order[0].dry_run"),
        (Full, {"inner": EXTRA}, "order.inner.dry_run"),
        (Full, {"inner": ANN, "written": EXTRA}, "order.written.dry_run"),
        (Full, {"inner": ANN, "several": [EXTRA]}, "order.several[0].dry_run"),
        (Full, {"inner": ANN, "named": {"a": EXTRA}}, "order.named.a.dry_run"),
        (Keeping, {"inner": EXTRA}, "order.inner.dry_run"),
        (Aliased, {"payee": "Ann", "recipient": "Mallory"}, "order.payee"),
    ],
)
def test_a_field_that_would_not_run_is_not_shown(kind: Any, sent: object, place: str) -> None:
    """Who confirms a dry run would confirm the payment."""
    shown, ran, told = shown_and_run(kind, sent)

    assert (shown, ran) == ([], [])
    assert f"'{place}' is not known; there is: " in told[0]


def test_a_field_that_a_class_drops_by_surprise_keeps_the_call_from_running() -> None:
    """No schema says what is another name of a field."""
    _, ran, told = shown_and_run(Keeping, {"to": "Ann", "payee": "Mallory"})

    assert ran == []
    assert "'order.to' cannot be used: is not known" in told[0]


def left_to_right(declared: Any) -> Any:
    return Annotated[declared, Field(union_mode="left_to_right")]


@pytest.mark.parametrize(
    "declared",
    [
        left_to_right(int | str),
        left_to_right(datetime | str),
        left_to_right(Fewer | More),
        list[Annotated[bool | str, Field(union_mode="left_to_right")]],
        left_to_right(set[int] | set[str]) | None,
    ],
    ids=["numbers", "dates", "classes", "list", "sets"],
)
@pytest.mark.parametrize("base", [BaseModel, Fewer])
def test_a_union_that_makes_a_text_something_else_makes_no_tool(base: Any, declared: Any) -> None:
    """People would be shown "1_000", which they may take for a text, and 1000 would run."""
    inner = create_model("Inner", __base__=base, amount=(declared, ...))
    root: Any = RootModel
    outer = create_model("Outer", inner=(Sequence[inner], ...))  # type: ignore[valid-type]  # made here
    for kind in (root[declared], inner, outer):
        with pytest.raises(ToolDefinitionError, match=r"left_to_right.*leave the union_mode out"):
            shown_and_run(kind, {})


@pytest.mark.parametrize(
    ("declared", "sent", "fault"),
    [
        (datetime, "20260101", "is read as datetime.datetime(1970, 8, 23,"),
        (datetime | int, "20260101", "is read as datetime.datetime(1970, 8, 23,"),
        (time | int, 1.0, "is read as datetime.time(0, 0, 1,"),
        (timedelta | int, 1.0, "is read as datetime.timedelta(seconds=1)"),
        (date | int, "20260101", "is read as 20260101"),
        (list[int | Decimal], ["1_000"], "is read as 1000"),
        (bool | int, 1.0, "is read as True"),
    ],
)
def test_a_value_that_pydantic_takes_for_another_one_does_not_run(
    declared: Any, sent: object, fault: str
) -> None:
    """Its schema allows it, as another type of a union has it, or as ISO 8601 reads it."""
    _, ran, told = shown_and_run(create_model("Order", at=(declared, ...)), {"at": sent})

    assert ran == []
    assert fault in told[0]


@pytest.mark.parametrize(
    ("declared", "sent", "value"),
    [
        (int | str, "1_000", "1_000"),
        (datetime | str, "1000000000", "1000000000"),
        (bool | str, "off", "off"),
        (Decimal | str, "1_000", "1_000"),
        (float | int, 5, 5),
        (datetime, "2026-01-01T10:00:00", datetime(2026, 1, 1, 10)),  # noqa: DTZ001 - it has no zone
        (date | int, "2026-01-01", date(2026, 1, 1)),
        (int, 1.0, 1),
        (Decimal, "12.50", Decimal("12.50")),
    ],
)
def test_a_union_takes_the_type_that_a_value_is_of(
    declared: Any, sent: object, value: object
) -> None:
    """As it was shown."""
    kind = create_model("Order", at=(declared, ...))
    shown, ran, _ = shown_and_run(kind, {"at": sent})
    assert (shown, ran) == ([{"at": sent}], [kind.model_construct(at=value)])
    assert type(ran[0].at) is type(value)
    if not isinstance(value, datetime | date):  # which a plain function gets of a union, too
        plain_shown, plain_ran, _ = shown_and_run(declared, sent)
        assert plain_shown == [sent]
        assert plain_ran == [value]


def cents(text: object) -> object:
    return int(str(text).removesuffix(" ct"))


class Cents(BaseModel):
    """Its own code reads texts."""

    amount: Annotated[int, BeforeValidator(cents, json_schema_input_type=str)]
    fee: int = 0
    paid: list[Annotated[int, WrapValidator(lambda x, _: int(x), json_schema_input_type=str)]] = []

    @field_validator("fee", mode="before", json_schema_input_type=str)
    @classmethod
    def _read(cls, text: object) -> object:
        return cents(text)


def test_what_code_of_a_class_makes_of_a_text_runs() -> None:
    """Whoever wrote it knows what is shown."""
    sent = {"amount": "5", "fee": "7", "paid": ["8"]}
    _, ran, _ = shown_and_run(Cents, sent)
    assert ran == [Cents(amount=5, fee=7, paid=[8])]


def test_a_field_that_a_class_keeps_is_shown_and_runs() -> None:
    """Where it says so, or where another class of a union has it."""
    extra = {"inner": {"to": "Ann"}, "note": "hi", "payee": "Bo"}
    assert shown_and_run(Keeping, extra)[:2] == ([extra], [Keeping.model_validate(extra)])
    for kind in (Fewer | More, More | Fewer):
        assert shown_and_run(kind, EXTRA)[:2] == ([EXTRA], [More(to="Ann", dry_run=True)])


def test_a_rule_sees_the_name_of_a_field_that_runs() -> None:
    """A call that says "Ann" by one name and "Mallory" by another one is none of both."""
    ran: list[Aliased] = []

    @tool
    def pay(order: Aliased) -> str:
        """Pay."""
        ran.append(order)
        return "paid"

    def built(name: str) -> Agent[Any]:
        to_ann = {"properties": {name: {"const": "Ann"}}, "required": [name]}
        rules = RuleList([CallRule("allow", arguments={"order": to_ann})], otherwise="deny")
        call = ToolCall("pay", {"order": {"payee": "Mallory", "recipient": "Ann"}})
        script = ScriptedChatGenerator(call, "done")
        return Agent(chat_generator=script, tools=[pay], confirmation_strategies={"pay": rules})

    with pytest.raises(WiringError, match=r"looks at 'order\.payee' .*; there is: recipient"):
        built("payee")
    result = built("recipient").run("go")
    assert ran == []
    (told,) = [answer.text for one in result.messages for answer in one.tool_call_results]
    assert "'order.payee' is not known; there is: recipient" in told


class Sent(BaseModel):
    """What pydantic prefers as soon as more of its fields are written."""

    amount: int
    fee: int = 5
    urgent: bool = True


class Paid(BaseModel):
    """What it takes a bare amount for."""

    amount: int
    note: str = ""


class Either(BaseModel):
    """Pydantic chooses."""

    how: Paid | Sent


class Whole(RootModel[Paid | Sent]):
    """Pydantic chooses here, too."""


@pytest.mark.parametrize(
    ("kind", "sent", "place"),
    [(Either, {"how": {"amount": 1}}, "order.how"), (Whole, {"amount": 1}, "order")],
)
def test_a_payment_does_not_become_another_one_by_what_is_filled_in(
    kind: Any, sent: Any, place: str
) -> None:
    """Nor is anybody shown what no class takes: the model must say it."""
    shown, ran, told = shown_and_run(kind, sent)

    assert (shown, ran) == ([], [])
    assert f"'{place}.note', '{place}.fee', '{place}.urgent' must be said" in told[0]


@pytest.mark.parametrize("kind", [Paid | Sent, Paid | Sent | None])
def test_of_several_models_the_first_that_fits_is_shown_and_runs(kind: Any) -> None:
    """Where the function itself takes them: it is read as that."""
    assert shown_and_run(kind, {"amount": 1})[:2] == ([{"amount": 1, "note": ""}], [Paid(amount=1)])
    each = shown_and_run(list[Paid | Sent], [{"amount": 1}])
    assert each[:2] == ([[{"amount": 1, "note": ""}]], [[Paid(amount=1)]])


def test_another_name_of_a_field_puts_nothing_in_the_place_of_what_was_shown() -> None:
    """The name of the schema counts, under which its default was shown, and no other fits."""
    shown, ran, told = shown_and_run(Aliased, {"payee": "Mallory"})

    assert (shown, ran) == ([], [])
    assert "'order.payee' is not known; there is: recipient" in told[0]


class Inside(BaseModel):
    """A field that is read from inside another one, of which no schema speaks."""

    amount: int = Field(1, validation_alias=AliasPath("a", "b"))


class InsideFirst(BaseModel):
    """The same, where it is there."""

    amount: int = Field(1, validation_alias=AliasChoices(AliasPath("a", 0), "amount"))


class Nested(BaseModel):
    """One in a field."""

    orders: list[Inside]


@pydantic_dataclass
class InsideData:
    """The same of a dataclass."""

    amount: int = Field(1, validation_alias=AliasPath("a", "b"))


@pytest.mark.parametrize(
    "kind", [Inside, InsideFirst, Nested, InsideData, list[Inside], One | Inside]
)
def test_what_is_read_from_where_no_schema_looks_makes_no_tool(kind: Any) -> None:
    """A rule would see an amount that is not paid."""
    with pytest.raises(ToolDefinitionError, match=r"is read from AliasPath\('a', .*give it a name"):
        shown_and_run(kind, {"amount": 5, "a": {"b": 1000}})


class Listed(BaseModel):
    """Two names, and a default that a class makes."""

    to: list[str] = Field(default_factory=list, validation_alias=AliasChoices("payees", "to"))


class ListedToo(BaseModel):
    """The same in the older way."""

    model_config = {"populate_by_name": True}

    to: list[str] = Field(default_factory=list, alias="payees")


@pytest.mark.parametrize("kind", [Listed, ListedToo])
def test_no_other_name_is_read_because_an_empty_list_was_not_said(kind: Any) -> None:
    """The name of the schema is the only one."""
    shown, ran, told = shown_and_run(kind, {"to": ["Mallory"]})

    assert (shown, ran) == ([], [])
    assert "'order.to' is not known; there is: payees" in told[0]


@pydantic_dataclass
class Renamed:
    """A dataclass of pydantic, which is made by another name."""

    amount: int = Field(1, alias="amt")


@pydantic_dataclass(config={"validate_by_alias": False, "validate_by_name": True})
class NotRenamed:
    """One that is not."""

    amount: int = Field(1, alias="amt")


@pytest.mark.parametrize("kind", [Renamed, NotRenamed])
def test_a_dataclass_of_pydantic_is_made_of_what_was_shown(kind: Any) -> None:
    """Also where nothing was said, and under whatever name it takes it."""
    for sent, amount in (({"amount": 5}, 5), ({}, 1)):
        shown, ran, _ = shown_and_run(kind, sent)
        assert (shown, [one.amount for one in ran]) == ([{"amount": amount}], [amount])


class AsksAbove:
    """A policy in the form of the seeds, which hears what was decided."""

    def __init__(self) -> None:
        self.heard: list[object] = []

    def should_ask(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> bool:
        """Whether the amount is above 100."""
        return bool(tool_params.get("amount", 0) > 100)

    def update_after_confirmation(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any], result: Any
    ) -> None:
        """Note the arguments."""
        self.heard.append(tool_params)


def test_a_policy_sees_the_default_that_will_be_used() -> None:
    """In a predicate, and in the form of the seeds; what it hears later has it as well."""
    paid: list[int] = []

    @tool
    def pay(amount: int = 900) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    own = AsksAbove()
    for policy in (AskWhen(lambda arguments: arguments.get("amount", 0) > 100), own):
        model = ScriptedChatGenerator(ToolCall("pay", {}), "done")
        rules = {"pay": policy}
        agent = Agent(
            chat_generator=model,
            tools=[pay],
            confirmation_strategies=rules,
            journal=MemoryJournal(),
        )
        agent.run("go", run_id="r", raise_at_break_point=False)
        assert paid == []
        (call,) = agent.pending("r")
        agent.decide("r", call.reject())
        agent.resume("r")

    assert own.heard == [{"amount": 900}]


def greedy(ran: list[Any], others: list[str]) -> Callable[..., str]:
    """A function whose default is a list that it changes itself."""

    def pay(amount: int, to: list[str] = others) -> str:
        ran.append((amount, list(to)))
        to.append("Mallory")
        return "paid"

    return pay


@pytest.mark.parametrize("policy", [AlwaysAskPolicy(), AskOncePolicy()])
def test_a_default_is_the_one_that_was_shown_whoever_changes_it(policy: Any) -> None:
    """The function itself, or whoever has the same list."""
    ran: list[Any] = []
    others = ["Ann"]
    made = create_tool_from_function(greedy(ran, others), description="Pay.")

    @tool
    def note(who: str) -> str:
        """Change the list behind the other's back."""
        others.append(who)
        return "noted"

    first = ChatMessage.from_assistant(
        tool_calls=[ToolCall("pay", {"amount": 1}), ToolCall("note", {"who": "Eve"})]
    )
    model = ScriptedChatGenerator(first, ToolCall("pay", {"amount": 1}), "done")
    asked = {"pay": policy}
    agent = Agent(
        chat_generator=model,
        tools=[made, note],
        journal=MemoryJournal(),
        confirmation_strategies=asked,
    )
    agent.run("go", run_id="r", raise_at_break_point=False)
    while pending := agent.pending("r"):
        assert pending[0].arguments["to"] == ["Ann"]
        agent.decide("r", pending[0].confirm(remember="arguments"))
        agent.resume("r", raise_at_break_point=False)

    assert ran == [(1, ["Ann"]), (1, ["Ann"])]


def test_a_rule_sees_the_default_that_will_be_used() -> None:
    """Not one that was changed since."""
    ran: list[Any] = []
    made = create_tool_from_function(greedy(ran, ["Ann"]), description="Pay.")
    rules = RuleList([CallRule("allow", arguments={"to": {"const": ["Ann"]}})], otherwise="deny")
    calls = [ToolCall("pay", {"amount": 1})] * 2
    model = ScriptedChatGenerator(*calls, "done")
    agent = Agent(chat_generator=model, tools=[made], confirmation_strategies={"pay": rules})

    assert agent.run("go").text == "done"
    assert ran == [(1, ["Ann"]), (1, ["Ann"])]


class Client:
    """What JSON cannot say, and a copy would be no good."""


def test_a_default_that_json_cannot_say_is_handed_over_itself() -> None:
    """A connection is the same for all calls; people are shown the name of its type."""
    client, seen = Client(), list[Any]()

    def look(at: str, by: Any = client) -> str:
        seen.append(by)
        return at

    made = create_tool_from_function(look, description="Look.")
    model = ScriptedChatGenerator(ToolCall("look", {"at": "x"}), "done")
    Agent(chat_generator=model, tools=[made]).run("go")

    assert seen == [client]


class Draft(BaseModel):
    """What pydantic prefers where a number has a point."""

    amount: float


class Payout(BaseModel):
    """What it prefers else, though the first one would take it as well."""

    amount: int
    fee: int = 9000


class Choice(BaseModel):
    """Either."""

    means: Draft | Payout


def test_a_default_of_what_a_class_may_choose_is_shown() -> None:
    """Though the first that fits has none: the model must say it."""
    shown, ran, told = shown_and_run(Choice, {"means": {"amount": 1}})

    assert (shown, ran) == ([], [])
    assert "'order.means.fee' must be said" in told[0]
    shown, ran, _ = shown_and_run(Choice, {"means": {"amount": 1, "fee": 7}})
    assert shown == [{"means": {"amount": 1, "fee": 7}}]
    assert ran == [Choice(means=Payout(amount=1, fee=7))]


AMOUNT = {"properties": {"amount": {"type": "integer", "default": 9000}}}
TO = {"to": {"type": "string"}}
REFERRED = {"$ref": "#/$defs/Pay", "$defs": {"Pay": AMOUNT}}


def shaped(shape: Any) -> dict[str, Any]:
    """The schema of a payment in this shape."""
    return {"type": "object", **shape, "properties": {**TO, **shape.get("properties", {})}}


@pytest.mark.parametrize(
    "shape",
    [
        {"allOf": [AMOUNT]},
        REFERRED,
        {**AMOUNT, "anyOf": [{"required": ["to"]}, {"required": ["iban"]}]},
        {"if": {"required": ["to"]}, "then": AMOUNT},
        {"dependentSchemas": {"to": AMOUNT}},
        {"anyOf": [{"required": ["iban"]}, AMOUNT]},
    ],
)
def test_no_default_is_out_of_sight_because_of_where_it_stands(shape: Any) -> None:
    """People see it, a rule denies by it, and it is what runs."""
    ran: list[Any] = []

    def pay(**arguments: Any) -> str:
        ran.append(arguments)
        return "paid"

    made = Tool("pay", "Pay.", shaped(shape), pay)
    much = CallRule("deny", arguments={"amount": {"minimum": 1000}})
    whole = {"to": "Ann", "amount": 9000}
    for policy, shown in ((AlwaysAskPolicy(), [whole]), (RuleList([much], otherwise="allow"), [])):
        agent = Agent(
            chat_generator=ScriptedChatGenerator(ToolCall("pay", {"to": "Ann"}), "done"),
            tools=[made],
            confirmation_strategies={"pay": policy},
            journal=MemoryJournal(),
        )
        agent.run("go", run_id="r", raise_at_break_point=False)
        pending = agent.pending("r")
        assert ([dict(call.arguments) for call in pending], ran) == (shown, [])
        for call in pending:
            agent.decide("r", call.confirm())
            agent.resume("r")
            assert ran == [whole]
            ran.clear()


ITSELF = {"default": {}, "properties": {"a": {"$ref": "#/$defs/a"}}}
ENDLESS = {"$ref": "#/$defs/a", "$defs": {"a": ITSELF}}
UNCLEAR = "'amount' must be said: what would be filled in hangs on how the rest is read"
TOO_MUCH = (
    "the schema of 'pay' is at fault: for what is left out it fills in more than 100,000 "
    "characters, goes too deep, or has too many options to try"
)


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ({"anyOf": [{"properties": TO, "required": ["to"]}, AMOUNT]}, UNCLEAR),
        (ENDLESS, TOO_MUCH),
    ],
)
def test_a_call_of_which_nobody_can_say_what_runs_is_shown_to_nobody(
    shape: Any, reason: str
) -> None:
    """Neither a policy nor a human, nor the tool; nor may a human make such a one of another."""
    seen: list[Any] = []

    def pay(**arguments: Any) -> str:
        seen.append(arguments)
        return "paid"

    def judge(call: ToolCall, *_: object) -> Any:
        seen.append(call)
        return Ask()

    made = Tool("pay", "Pay.", shaped(shape), pay)
    agent = Agent(
        chat_generator=ScriptedChatGenerator(ToolCall("pay", {"to": "Ann"}), "done"),
        tools=[made],
        confirmation_strategies={"pay": judge},
    )
    (told,) = [x.text for m in agent.run("go").messages for x in m.tool_call_results]

    assert seen == []
    assert told == f"Tool 'pay' was not run: {reason}"
    changed = change_faults(ToolCall("pay", {"amount": 1}), Modified({"to": "Ann"}), made)
    assert changed == [reason]
