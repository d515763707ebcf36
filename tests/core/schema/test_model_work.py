"""What pydantic would take too long for is known before it is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any, NamedTuple
from uuid import UUID

import pytest
from pydantic import BaseModel, Field, field_validator

from detent.core.schema.conversion import ConversionError, convert
from detent.core.schema.model_work import excess
from tests.core.schema.test_work import Add, Item, Quote, chain
from tests.core.values.test_hashed_parts import PAIRS, on_64_bits


@dataclass
class Page:
    """A record in which models stand, and others like it."""

    quote: Quote | None = None
    pages: list[Page | str] | None = None


class Pair(NamedTuple):
    """Two of them."""

    first: int
    second: Quote


class Plain(BaseModel):
    """A model without choices."""

    n: int = Field(default=1)


class Ids(BaseModel):
    """A model of what has a hash."""

    numbers: set[int] = set()
    keys: dict[UUID, str] = {}


class Point(BaseModel, frozen=True):
    """One that may stand in a set."""

    x: int
    y: int = 0


class Points(BaseModel):
    """A model of such."""

    points: frozenset[Point] = frozenset()


@dataclass(frozen=True)
class Spot:
    """The same as a class of Python's."""

    x: int
    y: int = 0


class Spots(BaseModel):
    """A model of such."""

    points: set[Spot]


class Own(BaseModel):
    """A model whose own code makes a set."""

    numbers: list[int]

    @field_validator("numbers")
    @classmethod
    def once(cls, numbers: list[int]) -> list[int]:
        """Each once."""
        return [*set(numbers)]


class Labels(BaseModel):
    """A model whose own code makes no set."""

    rows: list[list[int | str]]

    @field_validator("rows")
    @classmethod
    def as_they_are(cls, rows: list[list[int]]) -> list[list[int]]:
        """All of them."""
        return rows


class Rows(BaseModel):
    """A model that makes a set of rows."""

    rows: set[tuple[int | str, ...]]


class NoSchema(Ids):
    """A model of which no schema is to be had."""

    @classmethod
    def model_json_schema(cls, *args: Any, **options: Any) -> Any:
        """None."""
        raise TypeError


class Lists(BaseModel):
    """A model that puts texts into a dict, and nothing else into anything."""

    numbers: list[int] = []
    named: dict[str, int] = {}


FORMS: list[tuple[Any, Callable[[Any], Any]]] = [
    (Quote, lambda x: x),
    (Quote | Item | None, lambda x: x),
    (Annotated[list[Quote], "some"], lambda x: [x]),
    (dict[str, Quote], lambda x: {"a": x}),
    (tuple[int, Quote], lambda x: [1, x]),
    (Pair, lambda x: [1, x]),
    (Page, lambda x: {"pages": [{"quote": x}, "…"]}),
]


@pytest.mark.parametrize(("hint", "around"), FORMS)
def test_what_reading_would_refuse_is_said_before(hint: Any, around: Callable[[Any], Any]) -> None:
    """Wherever a model stands."""
    say = excess(hint)
    assert say is not None
    assert not say(around(chain(5)))
    assert convert(around(chain(5)), hint, "x")
    reason = say(around(chain(60)))
    with pytest.raises(ConversionError) as caught:
        convert(around(chain(60)), hint, "x")
    assert reason.startswith("the schema is at fault")
    assert reason in str(caught.value)


ALIKE = [n * (2**61 - 1) for n in range(300)]


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (Ids, {"numbers": ALIKE}),
        (list[Ids], [{"numbers": [*map(str, ALIKE)]}]),
        (Ids | None, {"keys": {str(UUID(int=n)): "" for n in ALIKE}}),
        (Points, {"points": [{"x": n} for n in ALIKE]}),
        (Own, {"numbers": ALIKE}),
        (NoSchema, {"numbers": ALIKE}),
    ],
    ids=["set", "texts", "keys", "objects", "code", "no schema"],
)
def test_members_of_one_hash_are_refused_before_a_model_is_made(hint: Any, value: Any) -> None:
    """Of many, pydantic compares each with all, and nothing else runs meanwhile."""
    say = excess(hint)
    assert say is not None
    reason = say(value)
    assert reason.startswith("has more than 64 different values of one hash")
    with pytest.raises(ConversionError, match="cannot be used: has more than 64 different values"):
        convert(value, hint, "x")


@on_64_bits
@pytest.mark.parametrize("kind", [Points, Spots])
def test_objects_of_one_hash_are_refused_whose_parts_have_many(kind: Any) -> None:
    """The class takes the hash of a tuple of them, in the order of its fields."""
    points = [{"y": y, "x": x} for x, y in PAIRS]
    assert len({*map(hash, kind.model_validate({"points": points}).points)}) == 1
    with pytest.raises(ConversionError, match="cannot be used: has more than 64 different values"):
        convert({"points": points}, kind, "x")


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (Ids, {"numbers": [*range(2000)]}),
        (Ids, {"numbers": ALIKE[:50] * 9, "keys": {str(UUID(int=n)): "" for n in range(300)}}),
        (Points, {"points": [{"x": x, "y": y} for x in range(30) for y in range(-20, 20)]}),
        (Lists, {"numbers": ALIKE, "named": {str(n): n for n in ALIKE}}),
    ],
    ids=["many hashes", "few of one", "objects", "lists"],
)
def test_other_members_are_read(hint: Any, value: Any) -> None:
    """As are those of which no set is made."""
    say = excess(hint)
    assert say is None or not say(value)
    assert convert(value, hint, "x") == hint.model_validate(value)


@pytest.mark.parametrize("value", [None, 1, "a", [], {}, [1], [[]], {"a": 1}, {"quote": 1}])
@pytest.mark.parametrize("hint", [hint for hint, _ in FORMS])
def test_what_fits_no_type_takes_no_work(hint: Any, value: object) -> None:
    """Whoever checks it says why."""
    say = excess(hint)
    assert say is not None
    assert not say(value)


@pytest.mark.parametrize("hint", [int, Plain, list[Plain], Add, dict[str, Any], Plain | int, Lists])
def test_where_there_is_nothing_to_try_nothing_is_counted(hint: Any) -> None:
    """No choices, or a discriminator."""
    assert excess(hint) is None


def test_a_model_beside_one_with_choices_takes_no_work() -> None:
    """It is not looked through."""
    say = excess(tuple[Plain, Quote])
    assert say is not None
    assert not say([{"n": 1}, {}])


def test_a_record_in_unions_is_counted_once() -> None:
    """It is made once of each part and type."""
    value: dict[str, Any] = {"quote": chain(9)}
    for _ in range(40):
        value = {"pages": [value]}
    say = excess(Page | list[Page])
    assert say is not None
    assert not say(value)


SIGNS = [*map(list, product((-1, -2), repeat=10))]


@pytest.mark.parametrize("form", [int, str, float])
def test_rows_of_minus_one_and_two_are_honest_where_no_set_is_known(form: Any) -> None:
    """All such have one hash. Of some thousands a set would take too long, if one were made."""
    rows = [[form(label) for label in row] for row in SIGNS]
    say, of_sets = excess(Labels), excess(Rows)
    assert say is not None
    assert of_sets is not None
    assert not say({"rows": rows[:400] * 3})
    assert say({"rows": rows}).startswith("has more than 512 different values of one hash")
    assert of_sets({"rows": rows[:400]}).startswith("has more than 64 different values")
