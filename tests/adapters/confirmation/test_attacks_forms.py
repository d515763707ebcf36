"""Attacks by the form of a value: who judges a call sees what runs, or cannot look at it.

What cannot be looked at fits each rule that denies or asks, and none that allows. Each test is
called by the promise that it attacks.
"""

from __future__ import annotations

import json
import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntFlag, StrEnum
from math import inf, nan
from typing import Annotated, Any, Generic, NamedTuple, TypeVar
from uuid import UUID

import pytest
from attrs import frozen
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    RootModel,
    SecretStr,
    computed_field,
    field_serializer,
    model_serializer,
)

from detent import (
    Agent,
    AlwaysAskPolicy,
    ChatMessage,
    MemoryJournal,
    ScriptedChatGenerator,
    Tool,
    ToolCall,
    ToolDefinitionError,
    create_tool_from_function,
)
from detent.adapters.confirmation.pattern_tests import UnclearError
from detent.adapters.confirmation.pattern_tests import test_of as fits
from detent.approvals import (
    Allow,
    Ask,
    AskOverBudget,
    CallRule,
    Deny,
    RuleList,
    WithQuestionOptions,
)
from detent.core.run.run import Run
from detent.core.state.state import State
from detent.core.state.stored import visible_data
from detent.core.tools.defaults import with_defaults

DAY = date(2026, 1, 1)
BLOCKED = {
    "type": "object",
    "properties": {"status": {"const": "blocked"}},
    "required": ["status"],
}
TOP = {"minimum": 100}
GREAT = 1 << 20_000
T = TypeVar("T")


class Currency(Enum):
    """What is paid in."""

    EUR = "eur"


class Speed(StrEnum):
    """How soon."""

    FAST = "fast"


def nested(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


def pay(amount: int) -> str:
    return f"paid {amount}"


PAY = create_tool_from_function(pay)


def said(effect: Any, pattern: object, value: object, kind: Any = None, tool: Tool = PAY) -> Any:
    """What a rule about a state key says of a call, where "allow" and "deny" are said otherwise."""
    state = State({"k": {"type": kind or type(value)}}).set("k", value)
    rules = RuleList(
        [CallRule(effect, state={"k": pattern}, name="it", reason="why")],
        otherwise="deny" if effect == "allow" else "allow",
    )
    return rules(ToolCall("pay", {"amount": 1}), tool, Run("r", state))


UNCLEAR: list[tuple[object, object, str]] = [
    (BLOCKED, {"status": "open", "x": nested(130)}, "more than 128 levels deep"),
    (BLOCKED, {"status": "open", "x": object()}, "nothing says how a object is written"),
    (TOP, nan, "NaN"),
    (5, nan, "NaN"),
    ([1, 2], [nan, 2], "NaN"),
    ({"items": {"enum": [1, "a"]}}, [nan], "NaN"),
    ({"properties": {"type": {"type": ["number", "null"]}}}, {"type": nan}, "NaN"),
    ({"uniqueItems": True}, [nan, nan], "NaN"),
    ({"anyOf": [{"const": {"type": 5}}]}, {"type": nan}, "NaN"),
    ({"multipleOf": 5}, inf, "infinite, or too large"),
    ({"type": "integer"}, -inf, "infinite, or too large"),
    ({"type": "string"}, "\ud800", "no encoding has"),
]


@pytest.mark.parametrize(("pattern", "value", "reason"), UNCLEAR)
def test_a_state_that_cannot_be_looked_at_switches_no_rule_off(
    pattern: object, value: object, reason: str
) -> None:
    """A tool may have fetched it, or a model noted it."""
    denied, asked = (said(effect, pattern, value) for effect in ("deny", "ask"))

    assert isinstance(denied, Deny)
    assert isinstance(asked, Ask)
    for text in (denied.reason, asked.reason):
        assert text.startswith("rule 'it': why; the state key 'k' cannot be looked at: ")
        assert reason in text
    assert isinstance(said("allow", pattern, value), Deny)


@pytest.mark.parametrize("kind", [list, list | int])
def test_a_list_that_is_too_deep_for_python_is_denied_as_well(kind: Any) -> None:
    """Whatever it is compared with."""
    deep = nested(3000)
    with pytest.raises(UnclearError, match="too deep"):
        fits([1], surely=False)(deep)
    state = State({"k": {"type": kind}})
    object.__setattr__(state, "_values", {**state._values, "k": deep})
    for pattern in (BLOCKED, [1], TOP):
        rules = RuleList([CallRule("deny", state={"k": pattern})], otherwise="allow")
        assert isinstance(rules(ToolCall("pay", {"amount": 1}), PAY, Run("r", state)), Deny)


@pytest.mark.parametrize(
    "value",
    [
        json.loads('{"status": "blocked", "x": NaN}'),
        {"status": "blocked", "x": inf, "y": GREAT},
        {"status": "blocked", "x": nested(120)},
        {"status": "blocked", "day": DAY, "by": {DAY: Decimal(1)}},
        OrderedDict(status="blocked"),
    ],
)
def test_what_a_pattern_does_not_speak_of_keeps_it_from_nothing(value: Any) -> None:
    """It is judged by the rest."""
    assert isinstance(said("deny", BLOCKED, value, dict), Deny)
    other = {**value, "status": "open"}
    assert isinstance(said("deny", BLOCKED, other, dict), Allow)


@pytest.mark.parametrize(
    ("pattern", "value", "fits"),
    [
        (TOP, inf, True),
        (TOP, -inf, False),
        ({"maximum": 1e308}, inf, False),
        ({"exclusiveMinimum": 1e308}, GREAT, True),
        ({"const": 5}, inf, False),
        (inf, inf, True),
        (5, inf, False),
        (5, GREAT, False),
    ],
    ids=map(str, range(8)),
)
def test_an_infinite_number_is_above_all_others(pattern: object, value: float, fits: bool) -> None:  # noqa: FBT001 - of a table
    """It is not what cannot be looked at."""
    assert isinstance(said("deny", pattern, value), Deny if fits else Allow)
    assert isinstance(said("allow", pattern, value), Allow if fits else Deny)


class Own:
    """A class that writes itself."""

    def __init__(self, status: str) -> None:
        self.status = status

    def to_dict(self) -> dict[str, Any]:
        """As a dict."""
        return {"status": self.status}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Own:
        """Read back."""
        return cls(data["status"])


class Refusing(Own):
    """One that does not."""

    def to_dict(self) -> dict[str, Any]:
        """Not at all."""
        raise KeyError(self.status)


class Client:
    """A connection."""


CLIENT = Client()


class Connected(BaseModel):
    """Holds a connection, which it does not write."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    to: str = "Ann"
    by: Client = Field(default=CLIENT, exclude=True)


class Named(NamedTuple):
    """A tuple with names."""

    status: str


@dataclass
class Made:
    """Is not made with what counts."""

    status: str = field(default="", init=False)


@dataclass
class Keyed:
    """Has keys that are no texts."""

    status: str
    by: dict[date, int]


class Model(BaseModel):
    """A plain one."""

    status: str


class Left(BaseModel):
    """Leaves out what counts."""

    status: str = Field(default="", exclude=True)
    at: date = DAY


class Needed(BaseModel):
    """Leaves out what it cannot be read without."""

    status: str = Field(exclude=True)
    pin: SecretStr = Field(default=SecretStr("1234"), exclude=True)


class Masked(BaseModel):
    """Writes something else, and a secret."""

    status: str
    pin: SecretStr = SecretStr("1234")

    @field_serializer("status")
    def write(self, value: str) -> str:
        """A mask."""
        return "***"


class Kept(BaseModel):
    """Leaves out one of two that have their defaults."""

    status: str = Field(default="blocked", exclude=True)
    limit: int = Field(default=500, exclude=True)


class Texted(BaseModel):
    """Is written as nothing."""

    status: str = "blocked"

    @model_serializer
    def write(self) -> str:
        """Not at all."""
        return ""


class Shared(BaseModel):
    """Takes what it does not know, by the name that it writes a field under, say."""

    model_config = ConfigDict(extra="allow")
    x: int = Field(1, serialization_alias="out")


class Behind(BaseModel):
    """Takes what it does not know, by the name of a field that is read by another one, say."""

    model_config = ConfigDict(extra="allow")
    status: str = Field("blocked", alias="s")


class Keys(BaseModel):
    """Has a dict of anything."""

    status: str = "open"
    by: dict[Any, Any] = {}


class Root(RootModel[Left]):
    """Is another model."""


def made(status: str) -> Made:
    value = Made()
    value.status = status
    return value


STATES: dict[str, Callable[[str], Any]] = {
    "to_dict": Own,
    "a named tuple": Named,
    "a field that is not given": made,
    "keys that are dates": lambda status: Keyed(status, {DAY: 1}),
    "a model": lambda status: Model(status=status),
    "an excluded field": lambda status: Left(status=status),
    "an excluded field that is required": lambda status: Needed(status=status),
    "a serializer": lambda status: Masked(status=status),
    "a field that a default is left out of": lambda status: Kept(status=status),
    "a text instead of fields": lambda status: Texted(status=status),
    "a root model": lambda status: Root(Left(status=status)),
}


@pytest.mark.parametrize("way", STATES)
def test_a_state_is_judged_by_what_it_is(way: str) -> None:
    """Whichever way its class is written."""
    for status, verdicts in (("blocked", (Deny, Allow)), ("open", (Allow, Deny))):
        value = STATES[way](status)
        assert isinstance(said("deny", BLOCKED, value), verdicts[0])
        assert isinstance(said("allow", BLOCKED, value), verdicts[1])


def test_a_class_that_cannot_write_itself_is_denied() -> None:
    """And what it says of that is not repeated: it may quote a secret."""
    verdict = said("deny", BLOCKED, Refusing("secret"))

    assert isinstance(verdict, Deny)
    assert "KeyError is raised where it is written" in verdict.reason
    assert "secret" not in verdict.reason


@pytest.mark.parametrize(
    ("value", "kind", "pattern"),
    [
        ({DAY: "x"}, dict[date, str], {"const": {"2026-01-01": "x"}}),
        ({DAY: "x"}, dict, {"type": "object", "minProperties": 1}),
        ({Currency.EUR: "x"}, dict[Currency, str], {"required": ["eur"]}),
        ({UUID(int=1): 1}, dict[UUID, int], {"minProperties": 1}),
        ({1: "x"}, dict[int, str], {"required": ["1"]}),
        ({("a", 1): "x"}, dict[tuple[str, int], str], {"required": ['["a", 1]']}),
        ({"$type": "x"}, dict, {"required": ["$type"]}),
        (Decimal(5), Decimal | int, "5"),
        ({"by": DAY}, dict, {"properties": {"by": {"const": "2026-01-01"}}, "required": ["by"]}),
        ([Named("blocked")], list, {"contains": BLOCKED}),
        (None, Decimal | None, {"const": None}),
        ({"a": DAY}, dict[str, Annotated[date, []]], {"const": {"a": "2026-01-01"}}),
    ],
)
def test_a_dict_is_an_object_and_no_type_stands_beside_a_value(
    value: object, kind: Any, pattern: Any
) -> None:
    """Both are there to be read back."""
    assert isinstance(said("deny", pattern, value, kind), Deny)


def test_a_conversation_is_judged_as_it_is_stored() -> None:
    """A message that cannot be is denied."""
    about = {"contains": {"properties": {"role": {"const": "user"}}, "required": ["role"]}}
    good = [ChatMessage.from_user("hi")]
    bad = [ChatMessage.from_user("hi", meta={"by": 1j})]

    assert isinstance(said("deny", about, good, list[ChatMessage]), Deny)
    assert isinstance(said("deny", {"maxItems": 0}, good, list[ChatMessage]), Allow)
    verdict = said("deny", {"maxItems": 0}, bad, list[ChatMessage])
    assert isinstance(verdict, Deny)
    assert "one of the messages has no form in JSON" in verdict.reason


def test_two_keys_of_one_name_cannot_be_looked_at() -> None:
    """One of them would be out of sight."""
    verdict = said("deny", BLOCKED, {1: "a", "1": "b"}, dict)

    assert isinstance(verdict, Deny)
    assert "several of its keys have one name" in verdict.reason


def test_two_fields_of_one_name_cannot_be_looked_at() -> None:
    """Whoever may pass more to a class would pass the name that it writes a field under."""
    for value in (
        Shared.model_validate({"out": 1}),
        Behind.model_validate({"status": "open"}),
        Keys(by={1: "a", "1": "b"}),
    ):
        assert isinstance(said("deny", BLOCKED, value), Deny)
        assert isinstance(said("allow", {"type": "object"}, value), Deny)


@dataclass
class Page(Generic[T]):
    """A generic one."""

    items: list[T]


class Amounts(NamedTuple):
    """A named tuple."""

    amount: int = 5000
    parts: tuple[int, ...] = (1, 2)


class Text(str):
    """A text of a class of its own."""

    __slots__ = ()


@dataclass
class Spread:
    """A record that holds a set, numbers and another record."""

    names: frozenset[str] = frozenset({"a"})
    share: float = 1
    day: date = DAY
    inner: Keyed | None = None


SHOWN: list[tuple[Any, Any, object]] = [
    (dict[Currency, int], {Currency.EUR: 5000}, {"eur": 5000}),
    (dict[date, int], {DAY: 1}, {"2026-01-01": 1}),
    (dict[UUID, int], {UUID(int=1): 1}, {str(UUID(int=1)): 1}),
    (dict[Decimal, int], {Decimal("1.0"): 1}, {"1.0": 1}),
    (dict[float, int], {1.5: 1}, {"1.5": 1}),
    (Keyed, Keyed("open", {DAY: 1}), {"status": "open", "by": {"2026-01-01": 1}}),
    (
        Spread,
        Spread(inner=Keyed("open", {DAY: 1})),
        {
            "names": ["a"],
            "share": 1,
            "day": "2026-01-01",
            "inner": {"status": "open", "by": {"2026-01-01": 1}},
        },
    ),
    (datetime, datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01T00:00:00+00:00"),
    (Page[date], Page([DAY]), {"items": ["2026-01-01"]}),
    (Amounts, Amounts(), [5000, [1, 2]]),
    (dict[str, Any], {"a": DAY, "b": [Currency.EUR]}, {"a": "2026-01-01", "b": ["eur"]}),
    (Any, Currency.EUR, "eur"),
    (str, Speed.FAST, "fast"),
    (str, Text("a"), "a"),
    (dict[str, int], OrderedDict(a=1), {"a": 1}),
    (list[int], (), []),
    (set[int], {1}, [1]),
]


def with_default(kind: Any, default: object, ran: list[object] | None = None) -> Tool:
    def pay(to: str, it: Any = default) -> str:
        (ran if ran is not None else []).append(it)
        return "paid"

    pay.__annotations__["it"] = kind
    return create_tool_from_function(pay)


@pytest.mark.parametrize(("kind", "default", "form"), SHOWN)
def test_a_default_is_shown_as_the_model_would_write_it(
    kind: Any, default: object, form: object
) -> None:
    """To people, to rules, and in the schema; what runs is the same."""
    ran: list[object] = []
    tool = with_default(kind, default, ran)
    much = CallRule("deny", arguments={"it": {"const": form}})
    journal = MemoryJournal()

    def agent(policy: Any) -> Agent[Any]:
        return Agent(
            chat_generator=ScriptedChatGenerator(ToolCall("pay", {"to": "x"}), "done"),
            tools=[tool],
            confirmation_strategies={"pay": policy},
            journal=journal,
        )

    assert tool.parameters["properties"]["it"]["default"] == form
    agent(RuleList([much], otherwise="allow")).run("go")
    assert ran == []
    asking = agent(AlwaysAskPolicy())
    (call,) = asking.run("go", run_id="r", raise_at_break_point=False).pending
    assert call.arguments["it"] == form
    asking.decide("r", call.confirm())
    asking.resume("r")
    assert ran == [default]


class Excluded(BaseModel):
    """Leaves out the amount."""

    to: str = "Ann"
    amount: int = Field(default=5, exclude=True)


class Serialized(BaseModel):
    """Writes another amount."""

    amount: int = 1

    @field_serializer("amount")
    def write(self, value: int) -> int:
        """Nothing."""
        return 0


class Blocked(BaseModel):
    """Leaves out all."""

    status: str = Field(default="blocked", exclude=True)
    limit: int = Field(default=500, exclude=True)


class Sparing(BaseModel):
    """Leaves out what it has by default."""

    to: str = "Ann"
    limit: int = 500

    @model_serializer(mode="wrap")
    def write(self, handler: Any) -> Any:
        """Little."""
        return {name: x for name, x in handler(self).items() if x != 500}


class Computed(BaseModel):
    """Writes more than it holds."""

    width: int = 2

    @computed_field
    def area(self) -> int:
        """Of a square."""
        return self.width**2


class Adding(BaseModel):
    """Writes a word of its own."""

    to: str = "Ann"

    @model_serializer(mode="wrap")
    def write(self, handler: Any) -> Any:
        """More."""
        return {**handler(self), "kind": "it"}


class Rate(float):
    """A number of a class of its own."""


class Money(BaseModel):
    """Is written as a text."""

    cents: int = 5
    at: timedelta = timedelta(seconds=5)
    rate: float = Rate(nan)
    names: set[str] = {"b", "a"}

    @model_serializer
    def write(self) -> str:
        """Of the cents alone."""
        return f"{self.cents} cents"


class Private(BaseModel):
    """Has more than its fields."""

    to: str = "Ann"
    _limit: int = PrivateAttr(default=1)


def private(limit: int) -> Private:
    value = Private()
    value._limit = limit
    return value


UNSEEN = private(9)


class Plain(BaseModel):
    """Has an enum that is not looked at as such."""

    model_config = ConfigDict(use_enum_values=True)
    currency: Currency = Currency.EUR


class Rights(IntFlag):
    """What somebody may do."""

    READ = 1
    WRITE = 2


MUCH = Serialized(amount=9000)


class Lying:
    """Is equal to everything."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


@dataclass(eq=False)
class Liar(Lying):
    """A record that is, and has more than it is made with."""

    amount: int = 1
    more: int = field(default=0, init=False)


def liar(more: int) -> Liar:
    value = Liar()
    value.more = more
    return value


class Several(list[int]):
    """A list of a class of its own."""


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        (Private, UNSEEN),
        (list[Private], [UNSEEN]),
        (Private | None, UNSEEN),
        (Annotated[Private, "what"], UNSEEN),
        (Liar, liar(9)),
        (int, Lying()),
        (dict, {"a": {1: 2}}),
        (dict[str, int], {("a", 1): 2}),
        (dict[str, int], {1: 1, "1": 2}),
        (list[int], Several([1])),
        (dict[Currency, int], {"usd": 1, Currency.EUR: 2}),
        (set[Any], {DAY, Lying()}),
    ],
)
def test_a_default_that_no_json_says_makes_no_tool(kind: Any, default: object) -> None:
    """It would run unseen."""
    with pytest.raises(ToolDefinitionError, match="'it': nobody can be shown its default"):
        with_default(kind, default)


HONEST: list[tuple[Any, Any, object]] = [
    (Excluded, Excluded(), {"to": "Ann", "amount": 5}),
    (Excluded, Excluded(amount=9000), {"to": "Ann", "amount": 9000}),
    (list[Excluded], [Excluded(amount=9000)], [{"to": "Ann", "amount": 9000}]),
    (Serialized, MUCH, {"amount": 9000}),
    (Sparing, Sparing(), {"to": "Ann", "limit": 500}),
    (Computed, Computed(), {"width": 2}),
    (Adding, Adding(), {"to": "Ann"}),
    (Plain, Plain(), {"currency": "eur"}),
    (Rights, Rights.READ | Rights.WRITE, 3),
    (Sequence[int], range(3), [0, 1, 2]),
    (set[int], {1: 1}.keys(), [1]),
    (Shared, Shared.model_validate({"y": 5}), {"x": 1, "y": 5}),
]


@pytest.mark.parametrize(("kind", "default", "form"), HONEST)
def test_a_default_is_judged_by_all_that_it_holds(kind: Any, default: Any, form: object) -> None:
    """Whatever its class leaves out, puts in another's place or adds."""
    tool, run = with_default(kind, default), Run("r", State({}))
    rules = RuleList([CallRule("deny", arguments={"it": {"const": form}})], otherwise="allow")

    assert tool.parameters["properties"]["it"]["default"] == form
    assert isinstance(rules(ToolCall("pay", {"to": "x"}), tool, run), Deny)


def test_a_default_that_the_state_stands_for_need_not_be_said() -> None:
    """Also where another one cannot be."""

    def send(to: str, by: Any = CLIENT, key: Private = UNSEEN) -> str:
        return to

    send.__annotations__["key"] = Private
    tool = create_tool_from_function(send, inputs_from_state={"key": "key"})

    assert tool.opaque_defaults == {"by"}


class Link(BaseModel):
    """One of a chain."""

    next: Link | None = None
    at: int = Field(default=0, exclude=True)


def test_a_chain_of_models_is_looked_at_once() -> None:
    """However long it is, each is written once."""
    chain, looks = None, []
    for at in range(120):
        chain = Link(next=chain, at=at)

    def watch(frame: Any, event: str, argument: object) -> None:
        looks.append(event == "call")

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        data = visible_data(chain, Link)
    finally:
        sys.setprofile(before)

    assert data["at"] == 119
    assert data["next"]["next"]["at"] == 117
    assert sum(looks) < 120 * 100


@pytest.mark.parametrize("default", [Client(), UNSEEN, {Currency.EUR: 5000}])
def test_no_rule_allows_by_a_default_that_it_cannot_look_at(default: object) -> None:
    """Of what may be anything: people are shown its type alone, and what a model says is judged."""
    tool = with_default(Any, default)
    name = f"<{type(default).__name__}>"
    call, written = ToolCall("pay", {"to": "x"}), ToolCall("pay", {"to": "x", "it": name})
    run: Run[Any] = Run("r", State({}))

    def rules(effect: Any) -> Any:
        return RuleList(
            [CallRule(effect, arguments={"it": name + "?"}, name="it")],
            otherwise="deny" if effect == "allow" else "allow",
        )

    assert tool.defaults == {"it": name}
    assert tool.opaque_defaults == {"it"}
    assert isinstance(rules("allow")(call, tool, run), Deny)
    for effect, verdict in (("deny", Deny), ("ask", Ask)):
        found = rules(effect)(call, tool, run)
        assert isinstance(found, verdict)
        assert "the argument 'it' cannot be looked at: its default has no form" in found.reason
        assert isinstance(rules(effect)(written, tool, run), Allow)


def test_a_schema_by_hand_may_leave_out_a_default_that_no_json_says() -> None:
    """The function is given its connection."""

    def send(to: str, by: Client = Client()) -> str:  # noqa: B008 - the same for all calls
        return to

    tool = Tool("send", "", {"type": "object", "properties": {"to": {"type": "string"}}}, send)

    assert tool.opaque_defaults == {"by"}


def test_a_default_in_a_record_that_no_json_says_is_said_by_the_model() -> None:
    """As one that code makes. So does one that is said, and not read: a call would be filled in."""

    @frozen
    class Bill:
        to: str
        paid: Serialized = MUCH
        by: Private = UNSEEN
        may: Rights = Rights.READ | Rights.WRITE
        days: Sequence[int] = range(2)

    def send(bill: Bill) -> str:
        return str(bill)

    send.__annotations__["bill"] = Bill
    schema = create_tool_from_function(send).parameters["properties"]["bill"]

    assert schema["required"] == ["to", "by", "may"]
    known = {name: x["default"] for name, x in schema["properties"].items() if "default" in x}
    assert known == {"paid": {"amount": 9000}, "days": [0, 1]}


class Order(BaseModel):
    """Has models for defaults."""

    what: Excluded = Excluded(amount=9000)
    size: Computed = Computed(width=3)


def test_a_default_in_a_model_is_filled_in_as_what_it_is() -> None:
    """With what its class leaves out, and without what it makes of it."""
    ran: list[Order] = []

    def send(order: Order) -> str:
        ran.append(order)
        return "sent"

    send.__annotations__["order"] = Order
    call = ToolCall("send", {"order": {}})
    tool = create_tool_from_function(send)
    Agent(chat_generator=ScriptedChatGenerator(call, "done"), tools=[tool]).run("go")

    whole = {"what": {"to": "Ann", "amount": 9000}, "size": {"width": 3}}
    assert with_defaults(call, tool) == {"order": whole}
    assert ran == [Order()]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Excluded(amount=9000), {"to": "Ann", "amount": 9000}),
        (Serialized(amount=9000), {"amount": 9000}),
        (Masked(status="open"), {"status": "open", "pin": "**********"}),
        (Needed(status="open"), {"status": "open", "pin": "**********"}),
        (Excluded(), {"to": "Ann", "amount": 5}),
        (Blocked(limit=9000), {"status": "blocked", "limit": 9000}),
        (Sparing(limit=500), {"to": "Ann", "limit": 500}),
        (Computed(), {"width": 2, "area": 4}),
        (Adding(), {"to": "Ann", "kind": "it"}),
        (Connected(), {"to": "Ann", "by": "<Client>"}),
        (Money(), {"cents": 5, "at": "PT5S", "rate": "nan", "names": ["a", "b"]}),
        (Shared(x=1), {"out": 1}),
        ("open", "open"),
        (nan, "nan"),
        (-inf, "-inf"),
        ("\ud800", "\\ud800"),
        ({DAY: nan}, {"2026-01-01": "nan"}),
        ([GREAT, 2**70, "\ud800"], ["<int>", hex(2**70), "\\ud800"]),
        (Client(), "<Client>"),
    ],
)
def test_what_is_revealed_of_the_state_is_what_runs(value: object, shown: object) -> None:
    """With all fields, and as JSON."""

    def send(to: str, what: Any) -> str:
        return "sent"

    tool = create_tool_from_function(send, inputs_from_state={"what": "what"})
    agent = Agent(
        chat_generator=ScriptedChatGenerator(ToolCall("send", {"to": "x"}), "done"),
        tools=[tool],
        state_schema={"what": {"type": type(value)}},
        confirmation_strategies={"send": WithQuestionOptions(AlwaysAskPolicy(), reveals=("what",))},
    )
    (call,) = agent.run("go", what=value, raise_at_break_point=False).pending

    assert call.state == {"what": shown}
    assert json.loads(json.dumps(call.to_dict()))["state"] == {"what": shown}


@pytest.mark.parametrize("value", [nan, inf, -inf])
def test_an_amount_that_is_no_number_takes_all_of_a_budget(value: float) -> None:
    """Or nothing, where it is below zero; it is asked about."""
    tool = Tool("pay", "", {"type": "object"}, lambda amount=value: "paid")
    verdict = AskOverBudget("amount", 100)(ToolCall("pay"), tool, Run("r", State({})))

    assert isinstance(verdict, Ask)
    assert bool(verdict.spends) is (value != -inf)
