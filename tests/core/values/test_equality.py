"""What stands for a value in a set is equal for two values exactly when these are."""

from __future__ import annotations

import dataclasses
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from decimal import Decimal
from functools import cached_property, partial
from itertools import product
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

import attrs
import pydantic
import pytest

from detent.core.state.handlers import append_unique, append_unique_by
from detent.core.values.equality import OPAQUE, Mark, hashable
from detent.core.values.frozen import FrozenDict, FrozenList, freeze

T = TypeVar("T")
MANY = 3_000


class Hit(pydantic.BaseModel):
    """A model as a tool gives them."""

    url: str = ""
    parts: list[Any] = []
    _note: str = pydantic.PrivateAttr("")

    @cached_property
    def size(self) -> int:
        """Counts for nothing."""
        return len(self.url)


class Open(pydantic.BaseModel, extra="allow"):
    """A model that takes anything."""


class Generic_(pydantic.BaseModel, Generic[T]):  # noqa: N801  # a generic one
    """A model of models."""

    item: T


class Root(pydantic.RootModel[list[int]]):
    """A model with an equality of its own."""


class Sly(Hit):  # noqa: PLW1641  # it has no hash
    """A model of which all that have one length are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sly) and len(self.url) == len(other.url)


@dataclasses.dataclass
class Data:
    """A dataclass that can be changed."""

    name: str
    items: list[Any] = dataclasses.field(default_factory=list)
    note: str = dataclasses.field(default="", compare=False)


class MoreData(Data):
    """It compares as its base does, with those of its own class."""


@dataclasses.dataclass(eq=False)
class LooseData(Data):
    """One more field, which is not compared."""

    more: int = 0


@dataclasses.dataclass
class OwnData:  # noqa: PLW1641  # it has no hash
    """A dataclass with an equality of its own."""

    name: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OwnData) and self.name[0] == other.name[0]


@attrs.define
class Record:
    """An attrs class that can be changed."""

    name: str = attrs.field(eq=str.lower)
    items: Any = ()
    note: str = attrs.field(default="", eq=False)


@attrs.frozen
class Sealed:
    """An attrs class with a hash, if its item has one."""

    item: Any


@dataclasses.dataclass(frozen=True)
class SealedData:
    """A dataclass with a hash, if its item has one."""

    item: Any


class Pair(NamedTuple):
    """A tuple with names."""

    left: object
    right: object


def _noted(hit: Hit) -> Hit:
    hit._note = "x"  # what it is about
    return hit


def _sized(hit: Hit) -> Hit:
    assert hit.size >= 0
    return hit


VALUES: list[Callable[[], Any]] = [
    lambda: 1,
    lambda: True,
    lambda: "a",
    lambda: [1],
    lambda: (1,),
    lambda: {"a": [1, Hit()]},
    lambda: {"a": FrozenList([1, Hit()])},
    lambda: FrozenDict({"a": [1, Hit()]}),
    lambda: [Hit()],
    lambda: (Hit(), 1),
    lambda: Pair(Hit(), 1),
    Hit,
    lambda: Hit(url="x"),
    lambda: _sized(Hit(url="x")),
    lambda: Hit(url="x", parts=[{"a": {1}}]),
    lambda: Hit(url="x", parts=[{"a": {True}}]),
    lambda: Hit(url="x", parts=[{"a": {2}}]),
    lambda: _noted(Hit()),
    lambda: Hit.model_construct(None),
    lambda: Open.model_validate({"a": 1}),
    lambda: Open.model_validate({"a": 2}),
    Open,
    lambda: Generic_(item=1),
    lambda: Generic_[int](item=1),
    lambda: Generic_[Any](item=2),
    lambda: Root([1]),
    lambda: Root([1, 2]),
    lambda: Sly(url="ab"),
    lambda: Sly(url="cd"),
    lambda: [Sly(url="ab")],
    lambda: [Sly(url="c")],
    lambda: Data("a"),
    lambda: Data("a", note="x"),
    lambda: Data("a", [Hit()]),
    lambda: MoreData("a"),
    lambda: LooseData("a", more=1),
    lambda: LooseData("a", more=2),
    lambda: OwnData("ab"),
    lambda: OwnData("ac"),
    lambda: Record("a"),
    lambda: Record("A", note="x"),
    lambda: Record("b", [1]),
    lambda: bytearray(b"a"),
    lambda: bytearray(b"b"),
    *(
        partial(make, part)
        for make in (
            lambda part: Hit(parts=[part()]),
            lambda part: [Sealed(part())],
            lambda part: SealedData((part(), 1)),
        )
        for part in (
            lambda: {1},
            lambda: frozenset({True}),
            lambda: {"a": 1},
            lambda: FrozenDict(a=1),
            lambda: OrderedDict(a=1),
            lambda: OrderedDict(a=1, b=-1),
            lambda: OrderedDict(b=-1, a=1),
            lambda: Counter(a=1, b=0),
            lambda: Counter(a=1),
            lambda: Counter(a=2),
            lambda: defaultdict(int, a=1),
            lambda: MappingProxyType({"a": 1}),
            lambda: deque([1]),
            lambda: bytearray(b"a"),
            lambda: b"a",
            lambda: -1,
            lambda: Decimal("-1.0"),
            lambda: -2,
        )
    ),
]


def test_two_forms_are_equal_exactly_when_the_values_are() -> None:
    """Each value with each other, and with another instance of itself."""
    values = [(freeze(make()), freeze(again())) for make in VALUES for again in VALUES]
    forms = [(hashable(one), hashable(other)) for one, other in values]

    assert [one == other for one, other in forms] == [one == other for one, other in values]
    assert all(hash(one) == hash(other) for one, other in forms if one == other)


@pytest.mark.parametrize(
    ("value", "is_taken_apart"),
    [
        (Hit(), True),
        (Data("a"), True),
        (Record("a"), True),
        (MoreData("a"), True),
        (Root([1]), True),
        (Sly(), False),
        (OwnData("a"), False),
    ],
    ids=repr,
)
def test_only_an_equality_that_is_known_is_taken_apart(
    value: object, *, is_taken_apart: bool
) -> None:
    """Of others all have one hash."""
    mark = hashable(value)
    assert isinstance(mark, Mark)
    assert (mark.code != OPAQUE) == is_taken_apart


def test_what_has_a_hash_and_no_parts_is_itself() -> None:
    """Nothing has to stand for it."""
    assert [hashable(x) for x in ("a", 1, None, int)] == ["a", 1, None, int]


def test_a_class_that_stands_in_no_file_is_asked_itself() -> None:
    """Whoever has written its equality."""
    names: dict[str, Any] = {}
    exec("class Free:\n    def __eq__(self, other):\n        return True", names)  # noqa: S102  # in no file
    assert hashable(names["Free"]()) == Mark(names["Free"](), OPAQUE)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: Counter(a=n),
        lambda n: defaultdict(int, a=n),
        lambda n: OrderedDict(a=n),
        lambda n: deque([n]),
        lambda n: bytearray([n % 256, n // 256]),
        lambda n: Root([n]),
        [*product((-1, -2), repeat=9)].__getitem__,
    ],
    ids=["Counter", "defaultdict", "OrderedDict", "deque", "bytearray", "root", "signs"],
)
def test_items_that_differ_in_a_container_are_many(make: Callable[[int], object]) -> None:
    """Each has a hash of its own, in whatever it stands."""
    for around in (
        lambda part: Hit(parts=[part]),
        lambda part: [part],
        lambda part: Data("a", [part]),
    ):
        items = [around(parts) for parts in map(make, range(300))]
        assert len(append_unique(items, items)) == len(items)


class Counted:
    """A part that counts how often it is compared."""

    compared = 0

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return isinstance(other, Counted) and self.number == other.number

    def __hash__(self) -> int:
        return hash(self.number)


@pytest.mark.parametrize(
    "make",
    [
        lambda part: Hit(parts=[part]),
        lambda part: Data("a", [part]),
        lambda part: Record("a", [part]),
        lambda part: [Hit(parts=[part])],
    ],
    ids=["pydantic", "dataclass", "attrs", "list"],
)
def test_items_without_a_hash_are_not_compared_one_by_one(make: Callable[[Counted], Any]) -> None:
    """Else many of them would take their square, in the event loop."""
    Counted.compared = 0
    items = [make(Counted(n)) for n in range(MANY)]

    assert len(append_unique(append_unique(None, items), items)) == MANY
    assert len(append_unique_by(lambda one: [one])(items, items)) == MANY
    assert Counted.compared < 10 * MANY
