"""The fields of every kind of record."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import InitVar, dataclass, field
from typing import Any, NamedTuple, NotRequired, Required, TypedDict

import attrs
import pydantic
import pytest
from attrs import NOTHING

from detent.core.schema.conversion import convert
from detent.core.schema.record_fields import RecordField, field_names, fields_of, is_named_tuple


@attrs.frozen
class Point:
    """A record."""

    x: int
    y: int = 0
    tags: list[str] = attrs.field(factory=list)
    seen: int = attrs.field(init=False, default=0)


@dataclass
class Route:
    """A dataclass."""

    start: Point
    name: str = "way"
    stops: list[Point] = field(default_factory=list)
    length: int = field(init=False, default=0)


class Stop(TypedDict):
    """A typed dict."""

    point: Point
    minutes: NotRequired[int]


class Extra(Stop, total=False):
    """A typed dict that has more."""

    note: str
    sure: Required[bool]


class Pair(NamedTuple):
    """A named tuple."""

    left: str
    right: int = 0


class Hotel(pydantic.BaseModel):
    """A pydantic model."""

    name: str


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (
            Point,
            [
                RecordField("x", int, is_required=True),
                RecordField("y", int, is_required=False, default=0),
                RecordField("tags", list[str], is_required=False, default=[]),
            ],
        ),
        (
            Route,
            [
                RecordField("start", Point, is_required=True),
                RecordField("name", str, is_required=False, default="way"),
                RecordField("stops", list[Point], is_required=False, default=[]),
            ],
        ),
        (
            Extra,
            [
                RecordField("point", Point, is_required=True),
                RecordField("minutes", int, is_required=False),
                RecordField("note", str, is_required=False),
                RecordField("sure", bool, is_required=True),
            ],
        ),
        (
            Pair,
            [
                RecordField("left", str, is_required=True),
                RecordField("right", int, is_required=True),
            ],
        ),
    ],
)
def test_a_record_is_made_with_its_fields(kind: type, expected: list[RecordField]) -> None:
    """What its constructor does not take is none of them."""
    assert [field._replace(alias="") for field in fields_of(kind)] == expected
    assert expected[0].default is NOTHING


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (Point, ("x", "y", "tags")),
        (Route, ("start", "name", "stops")),
        (Pair, ("left", "right")),
        (Hotel, ("name",)),
        (dict, None),
        (str, None),
    ],
)
def test_only_records_have_named_fields(kind: type, names: tuple[str, ...] | None) -> None:
    """A dict and a text have none."""
    assert field_names(kind) == names


def test_a_named_tuple_is_known_from_a_plain_one() -> None:
    """By the names of its items."""
    assert is_named_tuple(Pair)
    assert not is_named_tuple(tuple)
    assert not is_named_tuple(Pair("a", 1))


@dataclass
class Parcel:
    """A dataclass that is made with what is no field of it."""

    weight: int
    unit: InitVar[str]
    factor: InitVar[int] = 1

    def __post_init__(self, unit: str, factor: int) -> None:
        self.weight *= factor * {"g": 1, "kg": 1000}[unit]


def test_what_a_dataclass_is_only_made_with_is_a_field() -> None:
    """It comes with the others, and is not among the parts of what is made."""
    assert list(fields_of(Parcel)) == [
        RecordField("weight", int, is_required=True),
        RecordField("unit", str, is_required=True),
        RecordField("factor", int, is_required=False, default=1),
    ]
    assert convert({"weight": 2, "unit": "kg"}, Parcel, "it").weight == 2000
    assert field_names(Parcel) == ("weight",)


def test_a_field_without_a_type_may_be_anything() -> None:
    """As those of a named tuple that was made of words: that is the kind without types."""
    pair = namedtuple("pair", "left right")  # noqa: PYI024  # pyright: ignore[reportUntypedNamedTuple]

    assert list(fields_of(pair)) == [
        RecordField("left", Any, is_required=True),
        RecordField("right", Any, is_required=True),
    ]
