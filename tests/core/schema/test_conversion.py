"""JSON values to typed ones, exactly; `test_schemas` holds them against the schema."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from math import inf
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, TypedDict, TypeVar
from uuid import UUID

import attrs
import pydantic
import pytest
from annotated_types import Ge, Predicate
from typing_extensions import TypeAliasType

from detent.core.schema.conversion import ConversionError, as_it_is, convert, plain, reader
from detent.core.values.frozen import FrozenDict, freeze
from detent.core.values.hashes import FEW
from detent.core.values.shared_list import SharedList


class Colour(Enum):
    """A choice."""

    RED = "red"


def _positive(point: Point, attribute: object, value: int) -> None:
    if value <= 0:
        raise ValueError(f"{value} is not positive")


def _is_odd(number: int) -> bool:
    return number % 2 == 1


@attrs.frozen
class Point:
    """A record."""

    x: int = attrs.field(validator=_positive)
    y: int = 1


class Stop(TypedDict):
    """A typed dict."""

    point: Point


class Shade(StrEnum):
    """A choice of texts, each of which is one."""

    RED = "red"


class Tint(str, Enum):  # noqa: UP042 - that is the point
    """The same, as it was written before."""

    RED = "red"


class Size(IntEnum):
    """A choice of numbers."""

    SMALL = 1


Count = NewType("Count", int)
T = TypeVar("T")


@dataclass
class Search:
    """A dataclass with constraints."""

    limit: Annotated[int, Ge(1)]
    name: Annotated[str, pydantic.Field(min_length=2)]


@attrs.frozen
class Locked:
    """A record that attrs makes with a name of its own."""

    _key: str


@attrs.frozen
class Query:
    """An attrs class with constraints."""

    limit: Annotated[int, Ge(1)]
    name: Annotated[str, pydantic.Field(min_length=2)]


class Leg(NamedTuple):
    """A named tuple of records."""

    start: Point
    end: Point


class Hotel(pydantic.BaseModel):
    """A pydantic model."""

    stars: int

    @pydantic.field_validator("stars")
    @classmethod
    def _few(cls, stars: int) -> int:
        if stars > 5:
            raise ValueError("too many")
        return stars


class Visit(pydantic.BaseModel):
    """A pydantic model that writes a field in a way of its own."""

    half: Decimal
    day: datetime | None = None

    @pydantic.field_serializer("half")
    def _in_words(self, half: Decimal) -> str:
        return "a half" if half == Decimal("0.5") else str(half)


class Span(NamedTuple):
    """A named tuple of scalars."""

    first: int
    last: int


@attrs.frozen
class Box(Generic[T]):
    """A generic class."""

    content: T


@dataclass
class Parcel(Generic[T]):
    """A generic class with another one in it."""

    box: Box[T]


@pytest.mark.parametrize(
    ("value", "declared", "expected"),
    [
        ("a", str, "a"),
        (1.0, int, 1),
        (1, float, 1.0),
        (2**53, float, 2.0**53),
        (2**53 + 1, float | int, 2**53 + 1),
        (1, Annotated[int, "how many", {}], 1),
        ([1, 2], set[int], {1, 2}),
        ([1, 2], Sequence[int], (1, 2)),
        ([1, 2], Collection[int], [1, 2]),
        ([1], Iterable, [1]),
        ("red", Colour, Colour.RED),
        ("red", Literal[Colour.RED], Colour.RED),
        (True, Literal[1, True], True),
        ("red", Shade, Shade.RED),
        ("red", Tint, Tint.RED),
        (["red"], list[Shade], [Shade.RED]),
        (1.0, Size, Size.SMALL),
        ({"1": "a", "-2": "b"}, dict[int, str], {1: "a", -2: "b"}),
        ({"1": "a"}, Mapping[Annotated[Count, Ge(1)], str], {1: "a"}),
        ({"1e2": True, "3": False}, dict[float, bool], {100.0: True, 3.0: False}),
        (3, Annotated[int, Ge(3), Predicate(_is_odd)], 3),
        (None, Annotated[int | None, Ge(3)], None),
        ([], list[int] | dict[str, int], []),
        ({}, list[int] | dict[str, int], {}),
        ("a", list[str] | str, "a"),
        (1, bool | int, 1),
        ("2026-01-31", datetime | str, datetime(2026, 1, 31)),  # noqa: DTZ001 - as it is written
        ("soon", datetime | str, "soon"),
        (1.5, Decimal, Decimal("1.5")),
        ("1.50", Decimal, Decimal("1.50")),
        ("PT1.5S", timedelta, timedelta(seconds=1.5)),
        ("YQ==", bytes, b"a"),
        ("a/b", PurePosixPath, PurePosixPath("a/b")),
        ({"x": 1}, Point, Point(1)),
        ({"point": {"x": 2}}, Stop, {"point": Point(2)}),
        ([{"x": 1}, {"x": 2}], Leg, Leg(Point(1), Point(2))),
        ({"stars": 3}, Hotel, Hotel(stars=3)),
        ({"_key": "a"}, Locked, Locked("a")),
        ([1], Sequence, (1,)),
        ([1], AbstractSet[int], frozenset({1})),
    ],
    ids=lambda value: str(value).split(" at 0x")[0],
)
def test_a_value_becomes_what_is_declared(value: object, declared: Any, expected: object) -> None:
    """Of exactly the declared type."""
    made = convert(freeze(value), declared, "it")
    assert made == expected
    assert type(made) is type(expected)


@pytest.mark.parametrize(
    ("value", "declared", "expected"),
    [
        ("1", int, "'it' cannot be used: must be integer, got \"1\""),
        (True, int, "'it' cannot be used: must be integer, got true"),
        (True, Decimal, "'it' cannot be used: must be string or number, got true"),
        (True, Literal[1], "'it' cannot be used: must be one of [1], got true"),
        ("soon", datetime, "'it' cannot be used: Invalid isoformat string: 'soon'"),
        (10**400, float, "'it' cannot be used: OverflowError: int too large to convert to float"),
        (2**53 + 1, float, f"'it' cannot be used: no float is {2**53 + 1}; the nearest"),
        (inf, float, "'it' cannot be used: must be number, got Infinity"),
        ("blue", Shade, "'it' cannot be used: must be one of ['red'], got \"blue\""),
        (True, Size, "'it' cannot be used: must be one of [1], got true"),
        ({"a": "b"}, dict[int, str], "'it.a' cannot be used: Expecting value"),
        ({"1": 2}, dict[int, str], "'it.1' cannot be used: must be string, got 2"),
        (
            {"2": 0, "1": 5, "1.0": 9},
            dict[float, int],
            """'it' cannot be used: has several names for one key: "1" and "1.0\"""",
        ),
        (
            [{"a/b": 1, "a//b": 2}],
            list[dict[PurePosixPath, int]],
            """'it[0]' cannot be used: has several names for one key: "a/b" and "a//b\"""",
        ),
        ([], dict[int, str], "'it' cannot be used: "),
        (2, Annotated[int, Ge(3)], "'it' cannot be used: must be at least 3, got 2"),
        (
            {"limit": 0, "name": "x"},
            Search,
            "'it.limit' cannot be used: must be at least 1, got 0",
        ),
        ("P1Y", timedelta, "'it' cannot be used: 'P1Y' is no duration as in P1DT12H30M5S"),
        ({"x": 0}, Point, "'it' cannot be used: 0 is not positive"),
        ([{"x": 1}, {"y": 1}], list[Point], "'it[1].x' cannot be used: is missing"),
        ({"point": {"x": "1"}}, Stop, "'it.point.x' cannot be used: must be integer, got \"1\""),
        ("x", Stop, "'it' cannot be used: must be object, got \"x\""),
        ({"limit": 1, "name": "x"}, Query, "'it.name' cannot be used: must have a length of at"),
        ({"x": 1}, Stop, "'it.point' cannot be used: is missing"),
        ({"point": {"x": 1}, "x": 1}, Stop, "'it.x' cannot be used: is not known"),
        ([{"x": 1}, {"x": 0}], Leg, "'it[1]' cannot be used: "),
        ({"stars": 9}, Hotel, "'it' cannot be used: 1 validation error for Hotel"),
        (None, int | str, "'it' cannot be used: must be int | str, got null"),
        ({"a": 1}, list[int] | str, "'it' cannot be used: must be list[int] | str, got {"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(value: object, declared: Any, expected: str) -> None:
    """Nothing is turned into another kind of thing; the sentence has the path."""
    with pytest.raises(ConversionError) as caught:
        convert(value, declared, "it")
    assert caught.value.faults[0].startswith(expected)


def test_all_that_is_wrong_is_told() -> None:
    """One sentence for each fault."""
    with pytest.raises(ConversionError) as caught:
        convert({"x": 0, "y": "2", "z": 3}, Point, "it")
    assert len(caught.value.faults) == 2
    with pytest.raises(ConversionError) as caught:
        convert([{"x": "1"}, {"x": "2"}], Leg, "it")
    assert len(caught.value.faults) == 2


def test_a_tool_may_change_what_it_was_given() -> None:
    """The run's own arguments are frozen; a tool gets a copy."""
    given = convert(FrozenDict({"a": freeze([1])}), dict, "it")
    given["a"].append(2)
    assert given == {"a": [1, 2]}
    assert type(as_it_is(freeze([1]), "it")) is list


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Point(1), {"x": 1, "y": 1}),
        (Hotel(stars=1), {"stars": 1}),
        (Colour.RED, "red"),
        (datetime(2026, 1, 31, tzinfo=UTC), "2026-01-31T00:00:00+00:00"),
        (timedelta(minutes=1), "PT60S"),
        (MappingProxyType({"a": 1}), {"a": 1}),
        (b"a", "YQ=="),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Decimal("1.50"), "1.50"),
        (PurePosixPath("a/b"), "a/b"),
        (SharedList([1, 2]), [1, 2]),
        (deque([1]), [1]),
        ({1}, [1]),
        pytest.param(frozenset("dfbace"), ["a", "b", "c", "d", "e", "f"], id="many in a set"),
    ],
    ids=str,
)
def test_a_value_has_a_plain_form(value: object, expected: object) -> None:
    """As `json.dumps` asks for it."""
    assert json.loads(json.dumps(value, default=plain)) == expected


def test_what_json_cannot_say_is_refused() -> None:
    """Rather than written down as something else."""
    with pytest.raises(TypeError, match="nothing in JSON stands for object"):
        plain(object())


def test_a_type_variable_stands_for_its_bound() -> None:
    """Where nobody has said more."""
    amount = TypeVar("amount", bound=Decimal)

    assert convert("1.5", amount, "n") == Decimal("1.5")


def test_a_model_says_itself_what_it_is_as_json() -> None:
    """Down to its parts, which then are JSON's own."""
    day = datetime(2026, 1, 31, tzinfo=UTC)
    assert plain(Visit(half=Decimal("0.5"), day=day)) == {
        "half": "a half",
        "day": "2026-01-31T00:00:00Z",
    }


def test_a_named_tuple_has_all_its_items_and_no_others() -> None:
    """Nothing is dropped."""
    assert convert([1, 2], Span, "it") == Span(1, 2)
    for items in ([1], [1, 2, 3]):
        with pytest.raises(ConversionError, match="'it' cannot be used"):
            convert(items, Span, "it")


def test_a_generic_class_may_be_given_the_variable_of_another() -> None:
    """It means what the variable does, as where the class was given nothing."""
    assert convert({"content": 1}, Box, "it") == Box(1)
    assert convert({"box": {"content": 1}}, Parcel, "it") == Parcel(Box(1))


def test_an_empty_tuple_has_no_items() -> None:
    """What is declared without any is not declared without saying which."""
    assert convert([], tuple[()], "it") == ()
    assert convert([1], tuple, "it") == (1,)
    with pytest.raises(ConversionError, match="must have 0 items, got 1"):
        convert([1], tuple[()], "it")


def test_an_alias_is_what_it_stands_for() -> None:
    """However it is made."""
    make: Any = TypeAliasType

    assert convert(["a"], make("alias", list[str]), "it") == ["a"]


def test_an_alias_with_arguments_is_refused() -> None:
    """Taken for the alias without them, it would let any item through."""
    make: Any = TypeAliasType
    items: Any = list
    alias = make("alias", items[T], type_params=(T,))

    with pytest.raises(TypeError, match="no JSON Schema describes"):
        convert(["a"], alias[int], "it")


class Opaque:
    """What JSON cannot carry."""


@attrs.frozen
class Counted:
    """A record with a number."""

    content: int


@attrs.frozen
class Crate:
    """A record with it."""

    inside: Opaque


@pytest.mark.parametrize(
    "declared",
    [
        Opaque,
        dict[tuple[int, int], str],
        dict[bool, str],
        dict[Size, str],
        dict[Stop, str],
        dict[str | int, str],
        complex,
        type[int],
        Literal[b"x"],
        list[Opaque],
        set[list[int]],
        frozenset[Stop | str],
        "Forward",
        bytearray,
        Crate,
    ],
    ids=str,
)
def test_what_json_cannot_carry_is_not_read(declared: Any) -> None:
    """It is said before there is a value."""
    with pytest.raises(TypeError, match=r"JSON"):
        reader(declared)


def test_names_stand_for_what_can_be_read_from_a_text() -> None:
    """Numbers, too, and choices of texts."""
    keys: Any = Annotated[int, Ge(1)]
    assert convert({"1": 2}, dict[keys, int], "it") == {1: 2}
    assert convert({"red": 2}, dict[Colour, int], "it") == {Colour.RED: 2}
    assert convert({"a/b": 2}, dict[PurePosixPath, int], "it") == {PurePosixPath("a/b"): 2}


def test_a_set_may_hold_whatever_has_a_hash() -> None:
    """Of each of its types; what has none of them is none of its items."""
    assert convert([1, "a"], set[int | str], "it") == {1, "a"}
    with pytest.raises(ConversionError, match=r"'it\[0\]' .* must be int | str, got null"):
        convert([None], set[int | str], "it")


def test_what_is_wrong_inside_a_value_is_told_of_a_union_as_well() -> None:
    """It is of the right type, and a part of it is not."""
    with pytest.raises(ConversionError, match=r"'it\.content' .* must be integer, got \"a\""):
        convert({"content": "a"}, Counted | None, "it")


@pytest.mark.parametrize(
    ("hint", "write"),
    [
        (set[int], list),
        (frozenset[Decimal], lambda numbers: [*map(str, numbers)]),
        (AbstractSet[UUID], lambda numbers: [str(UUID(int=n)) for n in numbers]),
        (set[tuple[int, ...]], lambda numbers: [[1, n] for n in numbers]),
        (dict[int, str], lambda numbers: dict.fromkeys(map(str, numbers), "x")),
    ],
    ids=["int", "Decimal", "UUID", "tuple", "dict"],
)
def test_values_of_one_hash_become_no_set(hint: Any, write: Any) -> None:
    """Each would be compared with each, in C: nothing else would run for minutes."""
    alike = write([n * (2**61 - 1) for n in range(FEW + 1)])
    with pytest.raises(ConversionError, match="cannot be used: has more than 64 different"):
        convert({"a": alike}, dict[str, hint], "x")
    others = write([n * 2**61 for n in range(1, FEW + 2)])
    assert len(convert(others, hint, "x")) == FEW + 1
