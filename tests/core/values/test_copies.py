"""What a state keeps cannot be changed: it is frozen, or given out in copies."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict, UserDict, defaultdict, deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, NamedTuple, Self
from uuid import UUID

import attrs
import pytest
from pydantic import BaseModel

from detent.core.errors import StateTypeError
from detent.core.values.copies import (
    CopyOnRead,
    frozen_fields,
    frozen_leaf,
    peek,
    protect,
    read_copy,
)
from detent.core.values.frozen import FrozenDict, FrozenList


class Mood(Enum):
    """A mood."""

    CALM = "calm"


@attrs.frozen
class Note:
    """A frozen attrs class."""

    text: str
    tags: list[str] = attrs.field(factory=list)


@dataclass(frozen=True)
class Page:
    """A dataclass."""

    notes: tuple[Note, ...] = ()


@dataclass
class Draft:
    """A dataclass that can be changed."""

    lines: list[str] = field(default_factory=list)


@attrs.define
class Box:
    """A generic class."""

    content: object


class Plain:
    """A class like any other."""

    def __init__(self) -> None:
        self.items: list[int] = [1]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plain) and self.items == other.items

    def __hash__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return "Plain()"


class Model(BaseModel):
    """A pydantic model."""

    items: list[int] = []


class Pair(NamedTuple):
    """A named tuple."""

    left: Any
    right: Any


class Still:
    """A class that says by itself that its instances cannot be changed."""

    def __deepcopy__(self, memo: object) -> Self:
        return self


KEPT: list[object] = [
    *(1, "a", None, 1.5, True, b"x", 3j, range(3), ...),
    *(datetime.now(UTC), Decimal(1), Mood.CALM, int, len, protect, Still(), frozenset({1})),
    *(
        Note("a", FrozenList()),
        Page(),
        Page((Note("a", FrozenList(["b"])),)),
        Pair(1, "a"),
        (1, (2,)),
    ),
]
CHANGING: list[object] = [
    *(Draft(["a"]), Box([1]), Plain(), Model(items=[1]), bytearray(b"x"), deque([1])),
    *(OrderedDict(a=1), Counter("ab"), defaultdict(list, a=[1])),
    *([Draft()], {"a": Draft()}, (Draft(),), {Plain()}, frozenset({Plain()}), {Plain(): 1}),
    *(Note("a", [Draft()]), Page((Box(1),)), Pair(Draft(), 1)),  # type: ignore[list-item, arg-type]  # nobody checks
]


def named(values: list[object]) -> list[str]:
    return [f"{type(value).__name__} {at}" for at, value in enumerate(values)]


@pytest.mark.parametrize("value", KEPT, ids=named(KEPT))
def test_what_cannot_change_is_kept_itself(value: object) -> None:
    """Nothing is copied, neither on the way in nor on the way out."""
    held = protect(value)
    assert type(held) is not CopyOnRead
    assert held == value
    assert read_copy(held) is held


@pytest.mark.parametrize("value", [KEPT[-1], Page((Note("a", FrozenList(["b"])),)), Still()])
def test_an_immutable_value_keeps_its_identity(value: object) -> None:
    """Also one with parts."""
    assert protect(value) is value


@pytest.mark.parametrize("value", [UUID(int=1), PurePath("a")])
def test_other_values_come_out_equal(value: object) -> None:
    """Whether they are copied or not."""
    assert read_copy(protect(value)) == value


@pytest.mark.parametrize("value", CHANGING, ids=named(CHANGING))
def test_what_can_change_is_given_out_in_copies(value: object) -> None:
    """Each reader has his own, of the same type, equal to what came in."""
    held = protect(value)
    assert type(held) is CopyOnRead
    one, other = read_copy(held), read_copy(held)
    assert one == other == value == peek(held)
    assert type(one) is type(value)
    assert len({id(one), id(other), id(value), id(peek(held))}) == 4


def test_nobody_changes_an_object_from_outside() -> None:
    """Neither who put it in nor who read it out."""
    draft = Draft(["a"])
    held = protect([draft])
    draft.lines.append("b")
    read_copy(held)[0].lines.append("c")
    assert read_copy(held) == [Draft(["a"])]


def test_a_list_in_a_frozen_instance_is_frozen() -> None:
    """In a copy of the instance, for the one that came in is not ours to change."""
    tags = ["a"]
    note = Note("x", tags)
    held = protect(Page((note,)))
    tags.append("b")
    assert held == Page((Note("x", ["a"]),))
    assert isinstance(held, Page)
    with pytest.raises(TypeError, match="cannot be changed"):
        held.notes[0].tags.append("c")
    assert note.tags is tags


def test_a_view_of_a_dict_is_copied() -> None:
    """Who has the dict could change what the view shows."""
    source = {"a": [1]}
    held = protect(MappingProxyType(source))
    source["b"] = [2]
    assert held == {"a": [1]}
    assert type(held) is FrozenDict


def test_what_can_change_and_cannot_be_copied_is_refused() -> None:
    """With what to do instead."""
    with pytest.raises(
        StateTypeError, match=r"a lock can be changed and cannot be copied .* outside"
    ):
        protect(threading.Lock())
    with pytest.raises(StateTypeError, match="a list can be changed and cannot be copied"):
        protect([threading.Lock()])


def test_what_contains_itself_is_refused() -> None:
    """Nothing would hold it."""
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(StateTypeError, match="a list that contains itself"):
        protect(endless)


def test_guarded_values_compare_hash_and_print_as_what_they_guard() -> None:
    """So that states do."""
    held = protect(Plain())
    assert held == protect(Plain())
    assert held == Plain()
    assert held != protect(Draft())
    assert hash(held) == hash(Plain())
    assert repr(protect(Draft())) == repr(Draft())
    assert protect(held) is held


def test_any_mapping_is_a_leaf_that_is_frozen_as_a_dict() -> None:
    """With what is in it."""
    frozen = frozen_leaf(UserDict({"a": [1]}))
    assert frozen == {"a": [1]}
    assert isinstance(frozen, FrozenDict)


def test_a_class_whose_setter_says_something_else_is_not_frozen() -> None:
    """Whatever it raises: only a refusal for good counts."""

    @dataclass
    class Strict:
        n: int = 0

        def __setattr__(self, name: str, value: object) -> None:
            if value is None:
                raise ValueError("a number, please")
            super().__setattr__(name, value)

    assert frozen_fields(Strict) is None
