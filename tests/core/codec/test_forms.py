"""What can be stored is known by its type."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, Self, TypedDict, TypeVar
from uuid import UUID

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from typing_extensions import TypeAliasType

from detent.core.codec.forms import (
    ESCAPES,
    LOCAL_PATH,
    SCALARS,
    classes_in,
    is_storable,
    plain_type,
    stored_class,
)
from detent.core.codec.json_text import is_native
from detent.core.schema.type_checks import bare_type
from detent.core.values.frozen import FrozenDict, FrozenSet
from detent.core.values.shared_list import SharedList

T = TypeVar("T")
UserId = NewType("UserId", int)


Alias = TypeAliasType("Alias", Annotated[int, 1])


class Mood(Enum):
    """A mood."""

    CALM = 1


@frozen
class Inner:
    """A class in another one."""

    mood: Mood


@dataclass
class Outer:
    """A class with others in it."""

    inner: list[Inner]
    other: Outer | None = None


class Pair(NamedTuple):
    """A named tuple."""

    left: Inner


class Entry(TypedDict):
    """A typed dict."""

    pair: Pair


class Model(BaseModel):
    """A pydantic model."""

    number: int


@frozen
class Box(Generic[T]):
    """A generic class."""

    content: T


class Own:
    """A class that writes and reads itself."""

    def to_dict(self) -> dict[str, object]:
        """A dict of it."""
        return {}

    @classmethod
    def from_dict(cls, data: dict[str, object]) -> Self:
        """One from a dict."""
        return cls()


SCALAR_VALUES = st.one_of(
    *(st.binary(), st.datetimes(), st.dates(), st.times(), st.timedeltas(), st.uuids()),
    *(
        st.decimals(allow_nan=False),
        st.text().map(lambda text: PurePosixPath(text.replace("\0", ""))),
    ),
    st.datetimes(timezones=st.just(timezone(timedelta(hours=-3, minutes=-30)))),
)


@given(SCALAR_VALUES)
def test_a_scalar_is_one_text(value: object) -> None:
    """From which it can be made again."""
    form = SCALARS[type(value)]
    data = json.loads(json.dumps(form.pack(value)))
    assert form.unpack(data) == value
    assert type(form.unpack(data)) is type(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"\x00\xff", "AP8="),
        (datetime(2026, 1, 2, 3, 4, tzinfo=UTC), "2026-01-02T03:04:00+00:00"),
        (date(2026, 1, 2), "2026-01-02"),
        (time(3, 4, 5), "03:04:05"),
        (timedelta(seconds=1.5), "PT1.5S"),
        (Decimal("1.10"), "1.10"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Path("a/b"), str(Path("a/b"))),
        (PureWindowsPath("a\\b"), "a\\b"),
    ],
    ids=str,
)
def test_scalars_are_written_as_people_know_them(value: object, expected: object) -> None:
    """A span of time is in ISO 8601, and bytes are base64."""
    assert SCALARS[type(value)].pack(value) == expected


@given(
    st.integers()
    | st.text()
    | st.characters(categories=["Cs"])
    | st.floats(allow_nan=False)
    | st.booleans()
)
def test_every_native_value_can_be_escaped(value: object) -> None:
    """Also those that JSON has not got."""
    form = ESCAPES[type(value)]
    assert form.unpack(json.loads(json.dumps(form.pack(value)))) == value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((1, True), (2**63 - 1, True), (2**63, False), (-(2**63) - 1, False), (True, True)),
        *((1.5, True), (float("nan"), False), (float("-inf"), False), (None, True)),
        *(("a", True), ("ä𝄞", True), ("\ud834", False)),
    ],
    ids=ascii,
)
def test_native_is_what_all_readers_of_json_agree_on(value: object, expected: object) -> None:
    """Numbers of 64 bits, finite ones, and texts that are Unicode."""
    assert is_native(value) is expected


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        *(
            (int, int),
            (list[int], list),
            (dict, dict),
            (FrozenDict[str, int], dict),
            (SharedList[int], list),
        ),
        *(
            (Path, LOCAL_PATH),
            (Entry, dict),
            (Pair, Pair),
            (Inner, Inner),
            (Box[int], Box),
            (Mood, Mood),
        ),
        *((Model, Model), (Own, Own), (Any, None), (object, None), (int | str, None)),
        *((Sequence[int], None), (Literal["a"], None), (Exception, None), (T, None)),
    ],
    ids=str,
)
def test_a_declared_type_calls_for_one_class_or_leaves_it_open(
    declared: object, expected: type | None
) -> None:
    """A class that can be stored is called for; unions, protocols and Any are open."""
    assert stored_class(declared) is expected


def test_a_frozen_container_counts_as_a_plain_one() -> None:
    """It stands for it."""
    values: list[Any] = [FrozenDict(), SharedList(), FrozenSet(), ()]
    assert [plain_type(value) for value in values] == [
        *(dict, list, set, tuple),
    ]


def test_decorations_of_a_type_come_off() -> None:
    """All that are around it."""
    assert bare_type(Annotated[UserId, 1]) is int
    assert bare_type(list[int]) == list[int]


def test_a_type_mentions_the_classes_of_its_parts() -> None:
    """And those of their fields, however deep."""
    names = classes_in(
        [dict[str, Outer | None], Annotated[list[Entry], 1], Box[Model], Literal[Mood.CALM]]
    )
    kinds: list[type] = [Outer, Inner, Mood, Pair, Box, Model]
    assert names == {kind.__name__: {kind} for kind in kinds}
    assert classes_in([int, list[str], Any, Exception]) == {}


def test_classes_with_one_name_are_both_mentioned() -> None:
    """It is for others to say that they cannot be told apart."""
    other = type("Own", (Own,), {})
    assert classes_in([Own, other]) == {"Own": {Own, other}}


def test_a_plain_class_cannot_be_stored() -> None:
    """Nobody knows what is in it."""
    assert not is_storable(type("Plain", (), {}))


def test_an_alias_of_a_type_is_the_type() -> None:
    """As ``type Name = int`` makes one, from Python 3.12 on."""
    assert bare_type(Alias) is int
