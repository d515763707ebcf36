"""From types to JSON Schema, in step with what a value of the schema is converted to."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from math import inf
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    TypedDict,
    TypeVar,
)
from uuid import UUID

import annotated_types
import attrs
import pydantic
import pytest
from annotated_types import Ge, Gt, Interval, Len, MaxLen, MinLen, Predicate
from attrs import NOTHING
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, StringConstraints

from detent.adapters.tools.decorator import tool
from detent.adapters.tools.documents import Document
from detent.adapters.tools.type_schemas import (
    SchemaWriter,
    annotated_text,
    constrained,
    default_data,
    documented,
)
from detent.core.schema.accepted_keywords import schema_faults
from detent.core.schema.conversion import ConversionError, convert, plain
from detent.core.schema.validation import faults


class Colour(Enum):
    """A choice."""

    RED = "red"
    BLUE = "blue"


class Size(IntEnum):
    """A choice of numbers."""

    SMALL = 1
    LARGE = 2


@attrs.frozen
class Point:
    """A place on a map.

    Attributes:
        x: to the right
    """

    x: int
    y: Annotated[int, "upwards"] = 0
    seen: int = attrs.field(init=False, default=0)


@dataclass(frozen=True)
class Route:
    """A dataclass."""

    points: list[Point]
    by: Colour = Colour.RED
    tags: list[str] = field(default_factory=list)


class Stop(TypedDict):
    """A typed dict."""

    point: Point
    minutes: NotRequired[int]


class Pair(NamedTuple):
    """A named tuple."""

    left: str
    right: int


@attrs.frozen
class Tree:
    """A record with records like itself."""

    value: int
    children: list[Tree] = attrs.field(factory=list)


class Hotel(pydantic.BaseModel):
    """A house."""

    name: str
    stars: int = pydantic.Field(default=3, ge=1, le=5)
    near: Hotel | None = None


T = TypeVar("T")
N = TypeVar("N", int, str)
UserId = NewType("UserId", str)
Count = NewType("Count", int)


@attrs.frozen
class Page(Generic[T]):
    """A generic attrs class."""

    items: list[T]
    next: Page[T] | None = None


@attrs.frozen
class Numbers(Page[int]):
    """A class that says what the other is of."""

    total: int = 0


@dataclass(frozen=True)
class Box(Generic[T, N]):
    """A generic dataclass."""

    inside: T
    label: N


class Both(TypedDict, Generic[T]):
    """A generic typed dict."""

    one: T
    other: NotRequired[T]


class Twins(NamedTuple, Generic[T]):
    """A generic named tuple."""

    left: T
    right: T


def described(kind: type) -> Mapping[str, str]:
    return {"": "A place.", "x": "to the right"} if kind is Point else {}


def schema_of(declared: Any) -> dict[str, Any]:
    writer = SchemaWriter(described)
    schema = writer.schema(declared)
    return {**schema, "$defs": writer.definitions} if writer.definitions else schema


NUMBER_OR_NULL = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
POINT = {
    "type": "object",
    "description": "A place.",
    "properties": {
        "x": {"type": "integer", "description": "to the right"},
        "y": {"type": "integer", "description": "upwards", "default": 0},
    },
    "required": ["x"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (str, {"type": "string"}),
        (None, {"type": "null"}),
        (Any, {}),
        (object, {}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (Annotated[float, 3, "how far"], {"type": "number", "description": "how far"}),
        (UserId, {"type": "string"}),
        (Literal["a", 1], {"enum": ["a", 1]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[Colour.RED, None], {"enum": ["red", None]}),  # noqa: PYI061 - as people write it
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
        (Size, {"type": "integer", "enum": [1, 2]}),
        (list, {"type": "array"}),
        (Sequence[int], {"type": "array", "items": {"type": "integer"}}),
        (deque[int], {"type": "array", "items": {"type": "integer"}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (set[int | None], {"type": "array", "items": NUMBER_OR_NULL, "uniqueItems": True}),
        (frozenset[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        (dict, {"type": "object"}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (dict[Any, T], {"type": "object"}),  # type: ignore[valid-type]  # as people may write it
        (
            dict[Count, str],
            {
                "type": "object",
                "propertyNames": {"pattern": "^-?(0|[1-9][0-9]*)$"},
                "additionalProperties": {"type": "string"},
            },
        ),
        (dict[T, Any], {"type": "object"}),  # type: ignore[valid-type]  # as above
        (N, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (
            Numbers,
            {
                "type": "object",
                "properties": {
                    "items": {"type": "array", "items": {"type": "integer"}},
                    "next": {
                        "anyOf": [{"$ref": "#/$defs/Page"}, {"type": "null"}],
                        "default": None,
                    },
                    "total": {"type": "integer", "default": 0},
                },
                "required": ["items"],
                "additionalProperties": False,
                "$defs": {
                    "Page": {
                        "type": "object",
                        "properties": {
                            "items": {"type": "array", "items": {"type": "integer"}},
                            "next": {
                                "anyOf": [{"$ref": "#/$defs/Page"}, {"type": "null"}],
                                "default": None,
                            },
                        },
                        "required": ["items"],
                        "additionalProperties": False,
                    }
                },
            },
        ),
        (
            Annotated[list[Annotated[str, annotated_types.MinLen(2)]], annotated_types.Len(1, 3)],
            {
                "type": "array",
                "items": {"type": "string", "minLength": 2},
                "minItems": 1,
                "maxItems": 3,
            },
        ),
        (
            Mapping[Colour, Any],
            {"type": "object", "propertyNames": {"type": "string", "enum": ["red", "blue"]}},
        ),
        (
            Pair,
            {
                "type": "array",
                "prefixItems": [{"type": "string"}, {"type": "integer"}],
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        (datetime, {"type": "string", "format": "date-time"}),
        (Path, {"type": "string"}),
        (bytes, {"type": "string", "contentEncoding": "base64"}),
        (Point, POINT),
        (
            Stop,
            {
                "type": "object",
                "properties": {"point": POINT, "minutes": {"type": "integer"}},
                "required": ["point"],
                "additionalProperties": False,
            },
        ),
        (
            Route,
            {
                "type": "object",
                "properties": {
                    "points": {"type": "array", "items": POINT},
                    "by": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                    "tags": {"type": "array", "items": {"type": "string"}, "default": []},
                },
                "required": ["points"],
                "additionalProperties": False,
            },
        ),
        (
            Tree,
            {
                "$ref": "#/$defs/Tree",
                "$defs": {
                    "Tree": {
                        "type": "object",
                        "properties": {
                            "value": {"type": "integer"},
                            "children": {
                                "type": "array",
                                "items": {"$ref": "#/$defs/Tree"},
                                "default": [],
                            },
                        },
                        "required": ["value"],
                        "additionalProperties": False,
                    }
                },
            },
        ),
    ],
    ids=str,
)
def test_a_type_has_its_schema(declared: Any, expected: dict[str, object]) -> None:
    """Nested types have theirs inside; one that contains itself has a definition."""
    assert schema_of(declared) == expected
    assert list(schema_faults(expected)) == []


def test_a_pydantic_model_speaks_for_itself() -> None:
    """Without the titles it is full of, and with its definitions under its own name."""
    writer = SchemaWriter(described)
    assert writer.schema(Hotel) == {"$ref": "#/$defs/Hotel.Hotel"}
    assert writer.schema(list[Hotel])["items"] == {"$ref": "#/$defs/Hotel_.Hotel"}
    hotel = writer.definitions["Hotel.Hotel"]
    assert hotel["properties"]["stars"] == {
        "type": "integer",
        "default": 3,
        "minimum": 1,
        "maximum": 5,
    }
    assert hotel["properties"]["near"]["anyOf"][0] == {"$ref": "#/$defs/Hotel.Hotel"}


def test_two_classes_of_one_name_have_two_definitions() -> None:
    """A module may have another Tree."""
    writer = SchemaWriter(described)
    writer.schema(Tree)
    assert writer._fresh("Tree") == "Tree_"


TEXT = {"type": "string"}
NUMBER = {"type": "integer"}


class Foreign:
    """Somebody's own note, which means something else."""

    ge = 5


@pytest.mark.parametrize(
    ("schema", "note", "expected"),
    [
        (NUMBER, Ge(1), {"minimum": 1}),
        (NUMBER, Gt(1), {"exclusiveMinimum": 1}),
        (NUMBER, Interval(ge=1, lt=9), {"minimum": 1, "exclusiveMaximum": 9}),
        (NUMBER, Field(ge=1, le=9, multiple_of=2, description="x"), None),
        (TEXT, MinLen(2), {"minLength": 2}),
        (TEXT, Field(max_length=3, pattern="^a"), {"maxLength": 3, "pattern": "^a"}),
        (TEXT, StringConstraints(min_length=1), {"minLength": 1}),
        ({"type": "array"}, Len(1, 2), {"minItems": 1, "maxItems": 2}),
        ({"type": "object"}, MaxLen(2), {"maxProperties": 2}),
        ({"type": ["string", "number"], "format": "decimal"}, Ge(Decimal("0.5")), {"minimum": 0.5}),
        ({"type": "string", "format": "date"}, Ge(date(2026, 1, 1)), {}),
        (NUMBER, Predicate(bool), {}),
        (NUMBER, Interval(ge=-inf, le=inf), {}),
        (TEXT, StringConstraints(pattern=re.compile("^a")), {"pattern": "^a"}),
        (
            TEXT,
            StringConstraints(pattern=re.compile("^a", re.IGNORECASE | re.DOTALL)),
            {"pattern": "(?is)^a"},
        ),
        ({"$ref": "#/$defs/A"}, MinLen(1), {}),
        (NUMBER, Foreign(), {}),
        (NUMBER, "a text", {}),
    ],
    ids=lambda value: repr(value)[:35],
)
def test_a_schema_says_what_it_has_words_for(
    schema: dict[str, Any], note: object, expected: dict[str, Any] | None
) -> None:
    """Of each type of JSON its own."""
    if expected is None:
        expected = {"minimum": 1, "maximum": 9, "multipleOf": 2}
    assert constrained(schema, [note]) == {**schema, **expected}


def test_each_type_of_a_union_gets_what_is_said_of_it() -> None:
    """Null has no bounds."""
    union = {"anyOf": [TEXT, {"type": "array"}, {"type": "null"}]}
    assert constrained(union, [MinLen(1)])["anyOf"] == [
        {"type": "string", "minLength": 1},
        {"type": "array", "minItems": 1},
        {"type": "null"},
    ]


@pytest.mark.parametrize(("schema", "note"), [(TEXT, Ge(1)), (NUMBER, MinLen(1))])
def test_what_says_nothing_of_a_type_is_an_error(schema: dict[str, Any], note: object) -> None:
    """The author has mixed something up."""
    with pytest.raises(TypeError, match=r"=1 says nothing of a (string|number)"):
        constrained(schema, [note])


class Opaque:
    """What JSON cannot carry."""


@pytest.mark.parametrize("declared", [Opaque, dict[bool, str], list[Opaque], set[list[int]]])
def test_what_json_cannot_carry_has_no_schema(declared: Any) -> None:
    """It is said when the schema is asked for."""
    with pytest.raises(TypeError, match=r"JSON"):
        schema_of(declared)


def test_a_default_that_json_cannot_say_is_left_out() -> None:
    """The function has it all the same."""
    assert default_data(Opaque(), Any) is NOTHING
    assert default_data(NOTHING, Any) is NOTHING
    assert default_data({1.5}, set[float]) == [1.5]
    assert documented({}, "", NOTHING) == {}
    assert documented({}, "what", [1.5]) == {"description": "what", "default": [1.5]}
    assert documented({"description": "first"}, "second") == {"description": "first"}


def test_only_annotated_types_have_a_text() -> None:
    """Its first string, or what pydantic and typing have for it."""
    assert annotated_text(Annotated[int, 1, "how many", "more"]) == "how many"
    assert annotated_text(Annotated[int, 1]) == ""
    assert annotated_text(int) == ""
    assert annotated_text(Annotated[int, pydantic.Field(description="how many")]) == "how many"
    assert annotated_text(Annotated[int, annotated_types.doc("how many")]) == "how many"


POINTS = st.builds(Point, st.integers(-9, 9), st.integers(-9, 9))
MOMENTS = st.datetimes(timezones=st.just(UTC))
TYPED = st.one_of(
    st.tuples(st.just(int | str | None), st.integers() | st.text() | st.none()),
    st.tuples(st.just(float), st.floats(allow_nan=False, allow_infinity=False)),
    st.tuples(st.just(Literal["a", 1]), st.sampled_from(["a", 1])),
    st.tuples(st.just(Colour), st.sampled_from(Colour)),
    st.tuples(st.just(Size | Point), st.sampled_from(Size) | POINTS),
    st.tuples(st.just(datetime), MOMENTS),
    st.tuples(st.just(date), st.dates()),
    st.tuples(st.just(time), st.times()),
    st.tuples(st.just(timedelta), st.timedeltas()),
    st.tuples(st.just(UUID), st.uuids()),
    st.tuples(st.just(Decimal), st.decimals(allow_nan=False, allow_infinity=False, places=3)),
    st.tuples(st.just(Path), st.sampled_from(["a", "a/b"]).map(Path)),
    st.tuples(st.just(bytes), st.binary(max_size=9)),
    st.tuples(st.just(Pair), st.builds(Pair, st.text(), st.integers())),
    st.tuples(st.just(tuple[int, ...]), st.lists(st.integers()).map(tuple)),
    st.tuples(st.just(frozenset[int]), st.frozensets(st.integers())),
    st.tuples(st.just(deque[int]), st.lists(st.integers()).map(deque)),
    st.tuples(st.just(dict[Colour, int]), st.dictionaries(st.sampled_from(Colour), st.integers())),
    st.tuples(st.just(dict[int, str]), st.dictionaries(st.integers(), st.text())),
    st.tuples(
        st.just(dict[float, Any]),
        st.dictionaries(st.floats(allow_nan=False, allow_infinity=False), st.booleans()),
    ),
    st.tuples(st.just(Page[Colour]), st.builds(Page, st.lists(st.sampled_from(Colour)))),
    st.tuples(st.just(Numbers), st.builds(Numbers, st.just([1]), st.builds(Page, st.just([1])))),
    st.tuples(st.just(Box[Point, str]), st.builds(Box, POINTS, st.text())),
    st.tuples(st.just(Page), st.builds(Page, st.lists(st.text()))),
    st.tuples(st.just(Box), st.builds(Box, st.integers(), st.integers())),
    st.tuples(st.just(Both[Point]), st.fixed_dictionaries({"one": POINTS})),
    st.tuples(st.just(Twins[Point]), st.builds(Twins, POINTS, POINTS)),
    st.tuples(
        st.just(Route), st.builds(Route, st.lists(POINTS, max_size=3), st.sampled_from(Colour))
    ),
    st.tuples(
        st.just(Tree),
        st.builds(Tree, st.integers(), st.builds(lambda t: [t], st.builds(Tree, st.integers()))),
    ),
    st.tuples(st.just(list[Stop]), st.lists(st.fixed_dictionaries({"point": POINTS}), max_size=2)),
    st.tuples(st.just(Hotel | None), st.builds(Hotel, name=st.text(), stars=st.integers(1, 5))),
    st.tuples(st.just(Document), st.builds(Document, content=st.text())),
)


def as_json(value: object) -> object:
    def told(item: object) -> object:
        return {told_key(k): v for k, v in item.items()} if isinstance(item, dict) else plain(item)

    def told_key(key: object) -> object:
        return key.value if isinstance(key, Enum) else key

    return json.loads(json.dumps(told(value) if isinstance(value, dict) else value, default=plain))


@given(TYPED)
def test_what_is_written_as_json_fits_the_schema_and_comes_back(typed: tuple[Any, Any]) -> None:
    """Schema, conversion and its inverse are in step, whatever the type."""
    declared, value = typed
    told = as_json(value)
    assert list(faults(told, schema_of(declared))) == []
    assert convert(told, declared, "it") == value


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
STRICT = (int, float, int | str, list[int] | dict[str, int], Colour, Literal["a", 1], Point, Stop)


@given(st.sampled_from(STRICT), JSON | st.fixed_dictionaries({"x": JSON}, optional={"y": JSON}))
def test_what_the_schema_accepts_converts_and_nothing_else(declared: Any, value: object) -> None:
    """No value slips through one of the two only."""
    fits = not list(faults(value, schema_of(declared)))
    try:
        convert(value, declared, "it")
    except ConversionError:
        assert not fits
    else:
        assert fits


def test_a_field_that_json_cannot_carry_is_named() -> None:
    """In the class that has it."""
    odd = attrs.make_class("Odd", {"number": attrs.field(type=complex)})
    with pytest.raises(TypeError, match=r"in Odd\.number: no JSON Schema describes complex"):
        schema_of(odd)


@pytest.mark.parametrize("key", [bool, int | None, tuple[int, int]], ids=str)
def test_keys_that_json_has_not_got_are_told_with_a_way_out(key: Any) -> None:
    """Whether their schema has one type or several."""
    with pytest.raises(TypeError, match=r"JSON has no objects with keys of type .*; take pairs"):
        schema_of(dict[key, str])


class Password(pydantic.BaseModel, regex_engine="python-re"):
    """A class with a pattern that needs backtracking."""

    secret: str = pydantic.Field(pattern="^(?=a)(a+)+$")


class Compiled(pydantic.BaseModel):
    """The same, by a pattern that is compiled, inside of another class."""

    inner: list[Annotated[str, pydantic.Field(pattern=re.compile("^(?=a)(a+)+$"))]]


class Name(pydantic.BaseModel, regex_engine="python-re"):
    """A class with a pattern that needs none, and a field of an unlucky name."""

    pattern: str = pydantic.Field(pattern="^(a+)+$")


@pytest.mark.parametrize("kind", [Password, Compiled])
def test_a_pattern_that_needs_backtracking_is_refused(kind: type) -> None:
    """Pydantic would match it, and thirty letters of a model would keep it busy for minutes."""
    with pytest.raises(TypeError, match=r"without look-around .* check it in a validator"):
        schema_of(kind)


def test_a_pattern_that_needs_none_is_matched_without_before_pydantic_sees_the_text() -> None:
    """Whatever engine the class has chosen."""
    schema = schema_of(Name)
    assert schema["properties"]["pattern"] == {"type": "string", "pattern": "^(a+)+$"}
    (fault,) = faults({"pattern": f"{'a' * 60}!"}, schema)
    assert "must match ^(a+)+$" in fault


def test_choices_that_json_has_no_value_for_are_named() -> None:
    """Their author is to hear of them, and not what a library makes of such a schema."""
    Sent = Enum("Sent", {"MARK": object()})  # noqa: N806 - a class

    with pytest.raises(TypeError, match="not every choice of Sent is a JSON value"):
        SchemaWriter(described).schema(Sent)


class Item(pydantic.BaseModel):
    """One of a list."""

    n: int


class Crate(pydantic.BaseModel, Generic[T]):
    """A model of any type."""

    held: list[T]


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (pydantic.RootModel[list[Item]], [{"n": 1}]),
        (Crate[Item], {"held": [{"n": 1}]}),
        (list[Crate[Item] | pydantic.RootModel[Item]], [{"n": 1}, {"held": []}]),
    ],
)
def test_a_model_of_a_type_makes_a_tool(hint: Any, value: Any) -> None:
    """Its name has brackets, which no reference may have."""

    def keep(it: Any) -> str:
        return repr(it)

    keep.__annotations__ = {"it": hint, "return": str}
    made = tool(keep)
    assert not made.fits({"it": 1})
    assert made.fits({"it": value})
    assert convert(value, hint, "it")
