"""A codec writes plainly what is declared and beside it the type of what is not."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from enum import Enum, Flag, IntEnum
from typing import (
    Annotated,
    Any,
    Generic,
    NamedTuple,
    NotRequired,
    Self,
    TypedDict,
    TypeVar,
    get_args,
)

import attrs
import pytest
from cattrs import ClassValidationError, IterableValidationError
from pydantic import BaseModel, Field

from detent.core.codec.forms import NoFormError
from detent.core.codec.open_values import OpenValueConverter
from detent.core.schema.type_checks import type_name
from detent.core.values.frozen import FrozenDict

T = TypeVar("T")
DAY = date(2026, 1, 2)


class Mood(Enum):
    """A mood."""

    CALM = "calm"


class Level(IntEnum):
    """A number with a name."""

    LOW = 1


class Odd(Enum):
    """Values that are no texts or numbers."""

    PAIR = (1, 2)


class Rights(Flag):
    """A set of flags."""

    READ = 1
    WRITE = 2


@attrs.frozen
class Note:
    """A frozen attrs class."""

    day: date
    tags: list[str] = attrs.field(factory=list)
    more: Any = None
    _private: int = 0


@attrs.frozen
class DatedNote(Note):
    """A subclass."""


@attrs.define
class Counter:
    """An attrs class with a field that is set later."""

    start: int
    now: int = attrs.field(init=False, default=0)


@dataclass
class Tree:
    """A dataclass that contains its own kind."""

    name: str
    children: list[Tree] = field(default_factory=list)
    parent: Tree | None = None


@attrs.frozen
class Box(Generic[T]):
    """A generic class."""

    content: T


class Pair(NamedTuple):
    """A named tuple."""

    left: date
    right: list[date]


class Entry(TypedDict):
    """A typed dict."""

    day: date
    pair: NotRequired[Pair]


class Model(BaseModel):
    """A pydantic model."""

    day: date
    size: int = Field(alias="theSize")


class Own:
    """A class that writes and reads itself."""

    def __init__(self, day: date) -> None:
        self.day = day

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own) and self.day == other.day

    def __hash__(self) -> int:
        return hash(self.day)

    def to_dict(self) -> dict[str, object]:
        """A dict of it."""
        return {"day": self.day}

    @classmethod
    def from_dict(cls, data: dict[str, date]) -> Self:
        """One from a dict."""
        return cls(data["day"])


TAGGED_DAY = {"$type": "date", "value": "2026-01-02"}
FORMS: list[tuple[Any, object, object]] = [
    # declared type, value, what is written
    (int, 5, 5),
    (int, True, True),
    (float, 1, 1),
    (str, 5, 5),
    (date, DAY, "2026-01-02"),
    (date, "2026-01-02", {"$type": "str", "value": "2026-01-02"}),
    (date, 5, {"$type": "int", "value": "0x5"}),
    (date, True, {"$type": "bool", "value": True}),
    (date, None, None),
    (date | None, DAY, "2026-01-02"),
    (date | None, None, None),
    (date | str, DAY, TAGGED_DAY),
    (date | str, "a", "a"),
    (Any, DAY, TAGGED_DAY),
    (Any, [DAY, 1], [TAGGED_DAY, 1]),
    (Any, {"a": DAY}, {"a": TAGGED_DAY}),
    (list, [DAY], [TAGGED_DAY]),
    (list[date], [DAY], ["2026-01-02"]),
    (list[date], (DAY,), {"$type": "tuple", "value": [TAGGED_DAY]}),
    (tuple[date, ...], (DAY, DAY), ["2026-01-02", "2026-01-02"]),
    (tuple[date, int], (DAY, 1), ["2026-01-02", 1]),
    (tuple[date], (DAY, DAY), ["2026-01-02", TAGGED_DAY]),
    (tuple, (1, DAY), [1, TAGGED_DAY]),
    (tuple[()], (), []),
    (set[int], {2, 1}, [1, 2]),
    (frozenset[str], frozenset("ba"), ["a", "b"]),
    (Any, {1}, {"$type": "set", "value": [1]}),
    (dict[str, date], {"a": DAY}, {"a": "2026-01-02"}),
    (dict[date, int], {DAY: 1}, [["2026-01-02", 1]]),
    (dict[date, int], {}, {}),
    (dict[str, int], {"$type": 1}, [["$type", 1]]),
    (dict[str, int], {"\ud800": 1}, [[{"$type": "str", "value": "\\ud800"}, 1]]),
    (dict, {1: DAY}, [[1, TAGGED_DAY]]),
    (Any, {1: 2}, {"$type": "dict", "value": [[1, 2]]}),
    (Any, {"$type": "date"}, {"$type": "dict", "value": [["$type", "date"]]}),
    (FrozenDict[str, date], FrozenDict(a=DAY), {"a": "2026-01-02"}),
    (float, float("inf"), {"$type": "float", "value": "inf"}),
    (int, 2**64, {"$type": "int", "value": "0x10000000000000000"}),
    (str, "\ud800", {"$type": "str", "value": "\\ud800"}),
    (Mood, Mood.CALM, "calm"),
    (Level, Level.LOW, 1),
    (Odd, Odd.PAIR, "PAIR"),
    (Rights, Rights.READ | Rights.WRITE, 3),
    (list[Mood | str], [Mood.CALM, "calm"], [{"$type": "Mood", "value": "calm"}, "calm"]),
    (Note, Note(DAY, ["a"], DAY, 5),
     {"day": "2026-01-02", "tags": ["a"], "more": TAGGED_DAY, "_private": 5}),
    (list[Note | None], [Note(DAY), None],
     [{"day": "2026-01-02", "tags": [], "more": None, "_private": 0}, None]),
    (list[Note | DatedNote], [DatedNote(DAY)],
     [{"$type": "DatedNote", "day": "2026-01-02", "tags": [], "more": None, "_private": 0}]),
    (Tree, Tree("a", [Tree("b")]),
     {"name": "a", "children": [{"name": "b", "children": [], "parent": None}], "parent": None}),
    (Box[date], Box(DAY), {"content": "2026-01-02"}),
    (Box, Box(DAY), {"content": TAGGED_DAY}),
    (Pair, Pair(DAY, [DAY]), {"left": "2026-01-02", "right": ["2026-01-02"]}),
    (list[Pair | int], [Pair(DAY, [])], [{"$type": "Pair", "left": "2026-01-02", "right": []}]),
    (Entry, {"day": DAY}, {"day": "2026-01-02"}),
    (Model, Model(day=DAY, theSize=1), {"day": "2026-01-02", "theSize": 1}),
    (list[Model | int], [Model(day=DAY, theSize=1)],
     [{"$type": "Model", "value": {"day": "2026-01-02", "theSize": 1}}]),
    (Own, Own(DAY), {"day": TAGGED_DAY}),
]  # fmt: skip  # a table reads best this way


@pytest.mark.parametrize(
    ("declared", "value", "written"),
    FORMS,
    ids=[f"{at} {type_name(declared)}" for at, (declared, _, _) in enumerate(FORMS)],
)
def test_a_value_is_written_and_read_back(declared: Any, value: object, written: object) -> None:
    """Equal, and of the same types."""
    converter = OpenValueConverter([declared])
    assert converter.unstructure(value, declared) == written
    read = converter.structure(written, declared)
    assert read == value
    assert types_in(read) == types_in(value)


def types_in(value: Any) -> list[type]:
    return [type(value), *map(type, value if isinstance(value, list | tuple) else ())]


def test_a_field_that_is_set_later_is_written_too() -> None:
    """In a class that allows it to be set."""
    counter = Counter(1)
    counter.now = 5
    converter = OpenValueConverter([Counter])
    assert converter.structure(converter.unstructure(counter, Counter), Counter) == counter


def test_a_class_is_told_by_the_name_that_its_type_mentions() -> None:
    """Where nothing else tells."""
    converter = OpenValueConverter([Note])
    assert converter.structure(converter.unstructure([Note(DAY)], list), list) == [Note(DAY)]


@pytest.mark.parametrize(
    ("types", "value", "expected"),
    [
        ([Any], Note(DAY), "mention Note, as list"),
        ([Note], DatedNote(DAY), "mention DatedNote"),
        ([Any], object(), "make its class an attrs class or a dataclass"),
        ([Any], len, "make its class"),
        ([Any], Exception("a"), "an attrs class or a dataclass, or give it"),
        ([Box, type("Box", (Own,), {})], Box(1), "several types are called Box"),
        ([type("date", (Own,), {})], type("date", (Own,), {})(DAY), "mention date"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_what_cannot_be_stored_is_refused(types: list[Any], value: object, expected: str) -> None:
    """With the reason."""
    with pytest.raises(NoFormError, match=expected) as caught:
        OpenValueConverter(types).unstructure([value], list)
    assert caught.value.value is value


def test_a_class_called_like_a_built_in_type_cannot_be_told_from_it() -> None:
    """So it is not written where its name would have to tell."""
    own = type("date", (Own,), {})
    converter = OpenValueConverter([own])
    with pytest.raises(NoFormError, match="several types are called date"):
        converter.unstructure([own(DAY)], list)
    assert type(converter.structure(converter.unstructure(own(DAY), own), own)) is own


@pytest.mark.parametrize("name", ["Note", "os.system", "builtins.eval", "", 5, None, ["date"]])
def test_a_name_that_no_type_mentions_is_refused(name: object) -> None:
    """Nothing is imported because data names it."""
    with pytest.raises((ValueError, TypeError), match="mention"):
        OpenValueConverter([int]).structure({"$type": name, "value": "1", "day": "2026-01-02"}, Any)


@pytest.mark.parametrize("written", [{"left": 1}, {"left": 1, "right": 2, "top": 3}], ids=str)
def test_a_named_tuple_has_all_its_parts_and_no_others(written: dict[str, int]) -> None:
    """Else it is none."""
    with pytest.raises(ValueError, match="a Pair has left, right, not left"):
        OpenValueConverter([Pair]).structure(written, Pair)


def test_a_class_that_is_stored_keeps_the_notes_on_its_fields() -> None:
    """They say what else must hold, to those who read the class later."""

    @attrs.frozen
    class Age:
        years: Annotated[int, "not below 0"]

    OpenValueConverter([Age]).unstructure(Age(1), Age)

    assert get_args(attrs.fields(Age).years.type) == (int, "not below 0")


@pytest.mark.parametrize("declared", [Note, Tree], ids=str)
def test_a_record_has_no_other_fields(declared: Any) -> None:
    """What is stored under another name is not passed over."""
    converter = OpenValueConverter([declared])
    written = converter.unstructure({Note: Note(DAY), Tree: Tree("a")}[declared], declared)
    with pytest.raises(ClassValidationError) as caught:
        converter.structure({**written, "other": 1}, declared)
    assert "other" in str(caught.value.exceptions[0])


def test_what_cannot_be_read_is_told_with_its_name() -> None:
    """In an object that nobody has declared, too."""
    with pytest.raises(IterableValidationError) as caught:
        OpenValueConverter([int]).structure({"good": 1, "bad": {"$type": "Nothing"}}, Any)
    assert caught.value.exceptions[0].__notes__ == ["at 'bad'"]
