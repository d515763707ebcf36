"""Types that fit and types that do not; what cannot be told, fits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import date, datetime
from enum import Enum
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    NewType,
    Protocol,
    TypedDict,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    runtime_checkable,
)

import pytest
from attrs import frozen
from hypothesis import example, given, settings
from hypothesis import strategies as st

from detent.adapters.tools.documents import Document
from detent.core.state.handlers import merge_lists, replace_values
from detent.core.state.keys import Key
from detent.core.tools.type_compatibility import UNKNOWN, fits, part_type, update_type

T = TypeVar("T")
UserId = NewType("UserId", str)


class Found(TypedDict):
    """What a search gives."""

    papers: list[str]


class Pair(NamedTuple):
    """A named tuple."""

    left: str


class Colour(Enum):
    """A choice."""

    RED = 1


class Reader(Protocol):
    """Anything that reads."""

    def read(self) -> str:
        """What there is."""
        ...


@runtime_checkable
class Runner(Protocol):
    """Anything that runs; an instance may have the method though its class has not."""

    def run(self) -> str:
        """Go."""
        ...


@frozen
class Point:
    """A record."""

    x: int

    @property
    def double(self) -> int:
        """A part that is no field."""
        return 2 * self.x

    def treble(self) -> int:
        """No part at all."""
        return 3 * self.x


class Shelf:
    """A plain class; what its instances have may be given to them later."""

    papers: list[str]

    def __init__(self) -> None:
        self.later = 1

    def sort(self) -> None:
        """A method."""


class Ahead:
    """A class with an annotation that cannot be read here."""

    papers: NotDefined  # type: ignore[name-defined]  # noqa: F821  # pyright: ignore[reportUndefinedVariable]  # that is the point


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (int, int),
        (bool, int),
        (int, float),
        (int, Any),
        (Any, int),
        (object, int),
        (int, object),
        (str, Sequence),
        (list, list[int]),
        (list[int], list),
        (list[bool], Sequence[int]),
        (tuple[int, str], tuple[int, ...] | tuple[int, str]),
        (list[int | str], list[str]),
        (dict[str, int], Mapping[str, float]),
        (Found, dict[str, Any]),
        (dict, Found),
        (str | None, str),
        (int, str | int),
        (Literal["a"], str),
        (Literal["a", 1], str),
        (Literal["a", "b"], Literal["b", "c"]),
        (bool, complex),
        (UserId, str),
        (Annotated[int, "x"], int),
        (T, int),
        ("Forward", int),
        (Point, Reader),
        (Point, Runner),
        (Callable[[], int], Callable[[int], int]),
        (date, datetime),
        (type[int], type),
        (None, type(None)),
    ],
    ids=str,
)
def test_types_that_may_share_a_value_fit(given: Any, wanted: Any) -> None:
    """Also where only some values fit, and where nothing is known."""
    assert fits(given, wanted)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (int, str),
        (float, int),
        (str, list[str]),
        (list[str], list[int]),
        (list[str], tuple[str, ...]),
        (dict[str, str], dict[str, int]),
        (dict[int, str], dict[str, str]),
        (tuple[int, int], tuple[int]),
        (tuple[str, ...], tuple[int, ...]),
        (tuple[int, str], tuple[int, ...]),
        (None, str),
        (str, None),
        (str | bytes, int | None),
        (Literal[1], str),
        (Literal["a"], Literal["b"]),
        (Literal["a", 1], Literal["b", True]),
        (list[Literal["a"]], list[Literal["b"]]),
        (Literal["a", "b"], int),
        (Found, list),
        (Document, Point),
        (dict, Document),
        (UserId, int),
        (Colour, str),
    ],
    ids=str,
)
def test_types_that_share_no_value_do_not_fit(given: Any, wanted: Any) -> None:
    """A misfit is certain."""
    assert not fits(given, wanted)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=2),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=2)
        | st.dictionaries(st.text(max_size=1), inner, min_size=1, max_size=2)
        | st.tuples(inner, inner)
    ),
    max_leaves=4,
)
TYPES = st.recursive(
    st.sampled_from([int, str, float, bool, None, Any, object, list, dict, Literal["a", 1]]),
    lambda inner: (
        inner.map(lambda item: list[item])  # type: ignore[valid-type]  # made at run time
        | inner.map(lambda item: dict[str, item])  # type: ignore[valid-type]  # as above
        | inner.map(lambda item: tuple[item, ...])  # type: ignore[valid-type]  # as above
        | st.tuples(inner, inner).map(lambda pair: Union[pair])  # noqa: UP007 - as above
    ),
    max_leaves=3,
)


def is_a(value: object, declared: Any, *, promoting: bool) -> bool:
    """Whether a value has a type; `promoting`, where an int will do as a float."""

    def part(item: object, kind: Any) -> bool:
        return is_a(item, kind, promoting=promoting)

    origin, arguments = get_origin(declared), get_args(declared)
    if declared in (Any, object, None):
        return declared is not None or value is None
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in arguments)
    if origin in (Union, UnionType):
        return any(part(value, one) for one in arguments)
    if declared is float:
        return isinstance(value, float | int if promoting else float)
    if not isinstance(value, origin or declared):
        return False
    if not arguments:
        return True
    items = value.values() if isinstance(value, dict) else cast(Iterable[object], value)
    return all(part(item, arguments[-1 if origin is dict else 0]) for item in items)


@settings(max_examples=300)
@given(VALUES, TYPES, TYPES)
@example([False], list[float], list[int])
@example([True], list[bool], list[float])
@example(1, Literal["a", 1], Literal["b", 1])
def test_there_is_no_false_alarm(value: object, one: Any, other: Any) -> None:
    """Where some value is of both types, they fit. As for type checkers, a float is no int."""
    if is_a(value, one, promoting=False) and is_a(value, other, promoting=True):
        assert fits(one, other)


def joined(current: str, update: int) -> str:
    return current * update


def bare(current, update):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201 - as people write it
    return update


@pytest.mark.parametrize(
    ("key", "handler", "accepted", "refused"),
    [
        (Key("k", str, replace_values), None, [str, Any], [int, None]),
        (Key("k", list[int], merge_lists), None, [list[int], tuple[int, int], int, None], [str]),
        (Key("k", list[str], merge_lists), None, [str, list[str]], [list[int], set[str]]),
        (Key("k", list[int] | None, merge_lists), None, [int], [str]),
        (Key("k", Annotated[list[int], "x"], merge_lists), None, [int], [str]),
        (Key("k", list, merge_lists), None, [str, list[int], None], []),
        (Key("k", str, joined), None, [int], [str]),
        (Key("k", str, replace_values), joined, [int], [str]),
        (Key("k", str, bare), None, [int, str], []),
        (Key("k", str, max), None, [int, str], []),
    ],
)
def test_a_key_takes_what_its_handler_takes(
    key: Key[Any, Any], handler: Any, accepted: list[Any], refused: list[Any]
) -> None:
    """Its own handler, or the one of this tool."""
    wanted = update_type(key, handler)
    assert [one for one in accepted if not fits(one, wanted)] == []
    assert [one for one in refused if fits(one, wanted)] == []


@pytest.mark.parametrize(
    ("returns", "source", "expected"),
    [
        (Found, "papers", list[str]),
        (Point, "x", int),
        (Point, "double", UNKNOWN),
        (Shelf, "papers", list[str]),
        (Shelf, "later", UNKNOWN),
        (Ahead, "papers", UNKNOWN),
        (Pair, "left", str),
        (dict[str, int], "any", int),
        (dict[Literal["a"], int], "a", int),
        (dict, "any", UNKNOWN),
        (Mapping, "any", UNKNOWN),
        (Any, "any", UNKNOWN),
        (object, "any", UNKNOWN),
        (Found | None, "papers", list[str]),
        (Found | Point, "x", int),
        (Coroutine[Any, Any, Found], "papers", list[str]),
        (Awaitable[Found], "papers", UNKNOWN),
        (Annotated[Found, "x"], "papers", list[str]),
        ("Forward", "any", UNKNOWN),
        (Iterable[int], "any", UNKNOWN),
    ],
    ids=str,
)
def test_a_part_of_a_result_has_its_type(returns: Any, source: str, expected: Any) -> None:
    """As far as it can be told."""
    assert part_type(returns, source) == expected


@pytest.mark.parametrize(
    ("returns", "source", "expected"),
    [
        (Found, "paper", "Found has papers"),
        (Point, "y", "Point has x"),
        (Point, "treble", "'treble' of Point is a method"),
        (Shelf, "sort", "'sort' of Shelf is a method"),
        (int, "real", "int has no parts"),
        (str, "papers", "str has no parts"),
        (list[str], "papers", "list has no parts"),
        (dict[Literal["a", "b"], int], "c", "the dict has a, b"),
        (Literal["a"], "c", "Literal['a'] has no parts"),
        (Found | None, "paper", "Found has papers; NoneType has no parts"),
    ],
    ids=str,
)
def test_a_part_that_no_result_has_is_an_error(returns: Any, source: str, expected: str) -> None:
    """It says which parts there are."""
    with pytest.raises(LookupError, match=r".*") as caught:
        part_type(returns, source)
    assert str(caught.value) == expected


class Secretive(type):
    """Does not tell what is a class of its kind."""

    def __subclasscheck__(cls, subclass: type) -> bool:
        raise TypeError("nobody may ask")


def test_where_nothing_can_be_told_there_is_no_alarm() -> None:
    """A class may refuse to be compared."""
    assert fits(int, Secretive("Hidden", (), {}))
