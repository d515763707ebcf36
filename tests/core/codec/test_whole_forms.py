"""The whole form of a value: another one for another value, and the same in every process."""

from __future__ import annotations

import json
import re
import sys
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from functools import cached_property
from ipaddress import ip_address
from numbers import Integral, Rational
from pathlib import PurePosixPath, PureWindowsPath
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import attrs
import pytest
from dateutil import tz  # type: ignore[import-untyped]  # it says no types
from pydantic import (
    AnyUrl,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretBytes,
    SecretStr,
    TypeAdapter,
)

from detent import State
from detent.core.codec.json_text import is_plain
from detent.core.codec.whole_forms import scalar_form, whole_form, with_whole_form
from detent.core.state.stored import state_to_json, values_from_json
from detent.core.values.frozen import FrozenDict, FrozenList, FrozenSet
from detent.core.values.shared_list import SharedList


class Colour(Enum):
    """One of two."""

    RED = 1
    BLUE = 2


class Size(IntEnum):
    """Numbers with names."""

    SMALL = 1
    LARGE = 2


class Masked(str):  # noqa: SLOT000 - it has a note
    """A text that prints as another one, and may have a note."""

    note: str

    def __str__(self) -> str:
        return "***"


class Pair(NamedTuple):
    """A named tuple."""

    left: Any
    right: Any = None


class Twin(NamedTuple):
    """Another one."""

    left: Any
    right: Any = None


@dataclass
class Bill:
    """A dataclass with a field that nobody gives it."""

    to: Any = ""
    note: str = field(default="", init=False)


@attrs.define(eq=False)
class Slip:
    """The same of attrs, in slots."""

    to: Any = ""
    note: str = attrs.field(default="", init=False)


@attrs.frozen(cache_hash=True, slots=False)
class Hashed:
    """Keeps its hash, which another process has another of."""

    to: str = "Ann"


@attrs.define
class Counted:
    """Keeps what it has computed, in a slot."""

    to: str = "Ann"

    @cached_property
    def length(self) -> int:
        """Of the name."""
        return len(self.to)


class Payee(BaseModel):
    """A model with all that a dump leaves out."""

    model_config = ConfigDict(extra="allow", arbitrary_types_allowed=True)
    name: Any = "Ann"
    hidden: str = Field(default="", exclude=True)
    _kept: str = PrivateAttr(default="")

    @cached_property
    def length(self) -> int:
        """Of the name."""
        return len(str(self.name))


class BankPayee(Payee):
    """One with more fields than its base."""

    iban: str = ""


class Order(BaseModel):
    """Declares the base."""

    payee: Payee


class Own:
    """Says itself how it is stored, and leaves something out."""

    __slots__ = ("_key", "to")

    def __init__(self, to: str, key: str | None = None) -> None:
        self.to = to
        if key is not None:
            self._key = key

    def to_dict(self) -> dict[str, Any]:
        """Without the key."""
        return {"to": self.to}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Own:
        """Without the key."""
        return cls(data["to"])


@Integral.register
class Whole:
    """A number of a library, as numpy has them."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __int__(self) -> int:
        return self.value


class Connection:
    """Nothing that can be told: it is called as pydantic calls its own."""

    def get_secret_value(self, name: str) -> str:
        """From somewhere else."""
        raise AssertionError(name)


class Unsure(tzinfo):
    """A zone that knows its offset alone, and what it was made of."""

    __slots__ = ("_rule", "itself")

    def __init__(self, rule: str) -> None:
        self._rule = rule
        self.itself = self

    def utcoffset(self, _: datetime | None, /) -> timedelta:
        """None of its own."""
        return timedelta(0)

    def dst(self, _: datetime | None, /) -> timedelta | None:
        """It does not know."""
        raise NotImplementedError

    def tzname(self, _: datetime | None, /) -> str | None:
        """Neither this."""
        raise NotImplementedError


class Euros(Decimal):
    """A number with more in it."""

    __slots__ = ("note",)
    note: str


class Noted(list[int]):
    """A list with more in it."""

    __slots__ = ("note",)
    note: str


@Rational.register
class Part:
    """A fraction of a library."""

    def __init__(self, numerator: int, denominator: int) -> None:
        self.numerator = numerator
        self.denominator = denominator

    def __float__(self) -> float:
        return self.numerator / self.denominator


def changed(value: Any, **changes: Any) -> Any:
    for name, part in changes.items():
        setattr(value, name, part)
    return value


NIGHT = datetime(2026, 10, 25, 1, 30)  # noqa: DTZ001 - of the hour that comes twice in London
ZONES = (
    *(Unsure("a"), Unsure("b")),
    *map(ZoneInfo, ("UTC", "Europe/London", "Africa/Abidjan")),
)
FIXED = (UTC, timezone(timedelta(hours=1)))
DAY = datetime(2026, 1, 2, tzinfo=UTC)
GROUPS: list[list[Any]] = [
    [1, 1.0, True, "1", None, 2**70, -(2**70), Size.SMALL, Size.LARGE, Colour.RED, Colour.BLUE],
    [Decimal(1), Decimal("1.0"), Fraction(1), Fraction(1, 2), 1j, 2j, range(2), range(3)],
    [1, Whole(1), Whole(2)],
    [float("inf"), float("-inf"), Decimal("inf"), 0.0, -0.0],
    [
        "a",
        "b",
        b"a",
        b"b",
        bytearray(b"a"),
        Masked("a"),
        Masked("b"),
        changed(Masked("a"), note="n"),
    ],
    [DAY, DAY.date(), DAY.time(), DAY.isoformat(), DAY.replace(tzinfo=None), timedelta(1)],
    [date(2026, 1, 1), timedelta(2), time(1), timezone(timedelta(hours=1)), UTC],
    [ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Tokyo")],
    [
        *(NIGHT, NIGHT.replace(fold=1)),
        *(NIGHT.replace(tzinfo=zone) for zone in (*FIXED, *ZONES)),
        *(NIGHT.replace(tzinfo=zone, fold=1) for zone in ZONES),
    ],
    [
        *(NIGHT.time(), NIGHT.time().replace(fold=1)),
        *(NIGHT.time().replace(tzinfo=zone) for zone in (*FIXED, *ZONES)),
    ],
    [changed(Euros(1), note="a"), changed(Euros(1), note="b"), Decimal("-0"), Decimal("NaN1")],
    [changed(Noted(), note="a"), changed(Noted(), note="b")],
    [Part(2**60, 2**60 + 1), Part(2**60 - 1, 2**60 + 1)],
    [0j, complex(0.0, -0.0), complex(-0.0, 0.0)],
    [deque([1], 1), deque([1], 2), deque([1]), defaultdict(int), defaultdict(list)],
    [OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)],
    [UUID(int=1), UUID(int=2), PurePosixPath("a"), PurePosixPath("b"), PureWindowsPath("a")],
    [ip_address("10.0.0.1"), ip_address("10.0.0.2"), re.compile("a"), re.compile("a", re.ASCII)],
    [SecretStr("a"), SecretStr("b"), SecretBytes(b"a"), AnyUrl("http://a"), AnyUrl("http://b")],
    [[], (), set(), frozenset(), {}, deque(), OrderedDict(), defaultdict(list), [[]], [()], [{}]],
    [[1, 2], [2, 1], (1, 2), Pair(1, 2), Twin(1, 2), Pair(1), deque([1, 2]), {1, 2}, [[1], 2]],
    [{"a": 1}, {"b": 1}, {"a": 2}, {1: 1}, {"1": 1}, {(1,): 1}, {"a": None}, {Colour.RED: 1}],
    [int, str, Connection, Connection(), "Connection", ["Connection"]],
    [Bill("a"), Bill("b"), changed(Bill("a"), note="n"), changed(Bill("a"), other="n")],
    [Slip("a"), Slip("b"), changed(Slip("a"), note="n"), Slip(Slip("a")), Bill(Slip("a"))],
    [
        Payee(),
        Payee(hidden="h"),
        changed(Payee(), _kept="k"),
        Payee.model_validate({"more": 1}),
        Payee(name=b"Ann"),
    ],
    [Payee(name=SecretStr("a")), Payee(name=SecretStr("b")), Payee(name=Connection())],
    [Order(payee=Payee()), Order(payee=BankPayee()), Order(payee=BankPayee(iban="I"))],
    [Own("a"), Own("b"), Own("a", "k"), Own("a", "j"), {"to": "a"}],
]


def test_of_a_zone_that_has_one_offset_for_ever_that_says_all() -> None:
    """Stores keep no more of it: a question that names more would be put twice."""
    known = TypeAdapter(datetime).validate_python("2026-01-01T00:00:00Z").tzinfo
    assert type(known) is not timezone
    zones = (timezone(timedelta(0), "A"), known, tz.tzutc(), tz.tzoffset("B", 0))
    for value in (NIGHT, NIGHT.time()):
        for zone in zones:
            assert whole_form(value.replace(tzinfo=zone)) == whole_form(value.replace(tzinfo=UTC))
            assert whole_form(value.replace(tzinfo=zone)) != whole_form(value)


@pytest.mark.parametrize("group", GROUPS, ids=range(len(GROUPS)))
def test_two_values_have_two_forms(group: list[Any]) -> None:
    """Whatever their classes print, dump or compare."""
    forms = [json.dumps(whole_form(value), sort_keys=True) for value in group]

    assert len({*forms}) == len(group)
    assert not any(" at 0x" in form for form in forms)


@pytest.mark.parametrize(
    ("one", "same"),
    [
        ({"a": 1, "b": [2]}, {"b": [2], "a": 1}),
        ({1: "a", 2: "b"}, {2: "b", 1: "a"}),
        ({8, 0, 1}, {1, 0, 8}),
        ({"a": [{1}, 2]}, FrozenDict({"a": FrozenList([FrozenSet({1}), 2])})),
        ([{"a": 1}], SharedList([{"a": 1}])),
        (Bill("a"), Bill("a")),
        (Payee(), Payee(name="Ann")),
        (Own("a"), Own("a")),
        (Connection(), Connection()),
        ([Connection(), SimpleNamespace(a=1)], [Connection(), SimpleNamespace(a=2)]),
    ],
)
def test_the_same_value_has_the_same_form(one: Any, same: Any) -> None:
    """However it is kept, and which of its fields were given."""
    assert json.dumps(whole_form(one), sort_keys=True) == json.dumps(
        whole_form(same), sort_keys=True
    )


@pytest.mark.parametrize("value", [Hashed(), Counted(), Payee()])
def test_what_a_value_has_kept_of_the_rest_is_no_part_of_it(value: Any) -> None:
    """Its hash, and what it has computed: to look at a value makes no other one of it."""
    before = whole_form(value)
    _ = hash(value) if isinstance(value, Hashed) else value.length

    assert whole_form(value) == before


def test_a_value_that_is_in_itself_has_a_form() -> None:
    """All that stands beside it counts."""
    forms = []
    for to in "ab":
        bill = Bill()
        bill.to = [to, bill]
        forms.append(whole_form(bill))
    assert forms[0] != forms[1]
    assert whole_form([[1], [1]]) == ["list", [["list", [1]], ["list", [1]]]]


def test_a_value_that_is_too_deep_is_there_by_its_class() -> None:
    """Python cannot follow it."""
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    assert whole_form(value) == ["list"]
    assert with_whole_form("<list>", value) == {
        "$type": "whole",
        "data": "<list>",
        "value": ["list"],
    }


def test_what_has_parts_is_no_scalar() -> None:
    """And what has none is one."""
    assert scalar_form(Bill()) is None
    assert scalar_form(Decimal(1)) == ["Decimal", "1"]


STORED: list[tuple[Any, Any]] = [
    (Any, 1.0),
    (Any, 2**70),
    (Any, (1, {"a": {2}})),
    (datetime, DAY),
    (datetime, DAY.replace(tzinfo=timezone(timedelta(hours=1)))),
    *((datetime, NIGHT.replace(tzinfo=ZoneInfo("Europe/London"), fold=fold)) for fold in (0, 1)),
    (Any, [NIGHT.replace(tzinfo=ZoneInfo("Africa/Abidjan"))]),
    (time, time(1, tzinfo=ZoneInfo("Europe/London"))),
    (Any, [date(2026, 1, 1), Decimal("1.10")]),
    (PurePosixPath, PurePosixPath("a")),
    (Colour, Colour.RED),
    (Size, Size.LARGE),
    (Pair, Pair(1, "a")),
    (list[Bill], [Bill("a")]),
    (Slip, Slip("a")),
    (Hashed, Hashed()),
    (Order, Order(payee=Payee())),
    (Own, Own("a")),
    (dict[int, Bill], {1: Bill("a")}),
]


@pytest.mark.parametrize(("kind", "value"), STORED, ids=range(len(STORED)))
def test_what_a_store_has_kept_whole_has_the_same_form(kind: Any, value: Any) -> None:
    """So a decision counts in another process."""
    empty = State({"key": {"type": kind}})
    state = empty.set("key", value)
    data = json.loads(json.dumps(state_to_json(state)))
    back = empty.set("key", values_from_json(data, {"key": kind})["key"])

    assert whole_form(back.read("key")) == whole_form(state.read("key"))
    assert is_plain(back.read("key")) == is_plain(value)


def account(module: str) -> Any:
    """An account of a class that this module has."""
    kind: Any = attrs.make_class("Account", ["id"])
    kind.__module__ = module
    return kind(1)


@pytest.mark.parametrize("of", [account, lambda module: type(account(module))])
def test_a_class_of_the_same_name_is_another_one_elsewhere(of: Any) -> None:
    """It may be the account for trying out."""
    assert whole_form(of("sandbox")) != whole_form(of("live"))
    assert whole_form(of("shop.sandbox")) != whole_form(of("shop.live"))


@pytest.mark.parametrize("main", ["__main__", "__mp_main__"])
def test_a_class_of_a_script_is_that_of_its_module(
    main: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process imports what was a script in the first, by whatever path."""
    script = ModuleType(main)
    script.__file__ = "/srv/shop/pay.py"
    monkeypatch.setitem(sys.modules, main, script)

    forms = [whole_form(account(module)) for module in (main, "pay", "shop.pay")]
    assert forms[0] == forms[1] == forms[2]
    assert forms[0] != whole_form(account("play"))
