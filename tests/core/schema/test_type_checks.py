"""Types are named as people write them, and values are held against them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import (  # noqa: UP035  # people have Dict and List
    Annotated,
    Any,
    Dict,
    List,
    Literal,
    NewType,
    NotRequired,
    Optional,
    TypedDict,
    Union,
)

import pytest
from attrs import frozen
from pydantic import BaseModel

from detent.core.schema.type_checks import (
    classes_of,
    is_list,
    is_type,
    item_classes_of,
    misfit,
    takes,
    type_name,
)
from detent.core.values.frozen import FrozenDict
from detent.core.values.shared_list import SharedList


class Mood(Enum):
    """A mood."""

    CALM = "calm"


@frozen
class Document:
    """A frozen attrs class."""

    title: str


@dataclass
class Page:
    """A dataclass."""

    number: int


class Model(BaseModel):
    """A pydantic model."""

    number: int


class Entry(TypedDict):
    """A typed dict."""

    name: str
    age: NotRequired[int]


UserId = NewType("UserId", int)

TYPES: list[tuple[Any, str, object, object]] = [
    # type, its name, a value that has it, one that has not
    (int, "int", 1, "1"),
    (float, "float", 1, "1"),
    (bool, "bool", True, 1),
    (dict, "dict", {"a": 1}, []),
    (list, "list", [1, "a"], (1,)),
    (list[int], "list[int]", [1, 2], [1, "a"]),
    (List[int], "list[int]", [1], ["a"]),  # noqa: UP006  # people have it
    (Dict[str, int], "dict[str, int]", {"a": 1}, {"a": "b"}),  # noqa: UP006  # people have it
    (list[list[str]], "list[list[str]]", [["a"]], [["a"], [1]]),
    (dict[str, list[int]], "dict[str, list[int]]", {"a": [1]}, {"a": ["b"]}),
    (tuple[int, ...], "tuple[int, ...]", (1, 2, 3), (1, "a")),
    (tuple[int, str], "tuple[int, str]", (1, "a"), (1,)),
    (set[int], "set[int]", {1}, {"a"}),
    (frozenset[int], "frozenset[int]", frozenset({1}), {1}),
    (int | str, "int | str", "a", 1.5),
    (int | None, "int | None", None, "a"),
    (Optional[int], "int | None", 1, "a"),  # noqa: UP045  # people have it
    (Union[int, str], "int | str", 1, None),  # noqa: UP007  # people have it
    (Literal["a", 1], "Literal['a', 1]", "a", "b"),
    (Mood, "Mood", Mood.CALM, "calm"),
    (Entry, "Entry", {"name": "a"}, {"name": 1}),
    (Annotated[int, "of importance"], "int", 1, "a"),
    (Document, "Document", Document("a"), {"title": "a"}),
    (list[Document], "list[Document]", [Document("a")], [Page(1)]),
    (Page, "Page", Page(1), None),
    (Model, "Model", Model(number=1), {"number": 1}),
    (Sequence[int], "Sequence[int]", [1], ["a"]),
    (Mapping[str, int], "Mapping[str, int]", {"a": 1}, {1: 1}),
    (Callable[[int], str], "Callable[[int], str]", str, 1),
    (UserId, "UserId", 1, "a"),
    (type(None), "NoneType", None, 0),
    (Any, "Any", object(), ...),
]
# Numbered, as `Optional[int]` and `int | None` print alike from Python 3.14 on.
NAMES = [f"{number} {declared}" for number, (declared, *_) in enumerate(TYPES)]


@pytest.mark.parametrize(("declared", "name", "fits", "other"), TYPES, ids=NAMES)
def test_a_value_is_held_against_its_type(
    declared: Any, name: str, fits: object, other: object
) -> None:
    """One that has the type passes, one that has not is told of."""
    assert is_type(declared)
    assert type_name(declared) == name
    assert misfit(fits, declared, "all") is None
    if other is not ...:
        assert misfit(other, declared, "all") is not None


@pytest.mark.parametrize(("declared", "name", "fits", "other"), TYPES, ids=NAMES)
def test_the_quick_look_agrees_with_the_thorough_one(
    declared: Any, name: str, fits: object, other: object
) -> None:
    """A class that surely fits is never one of a value that does not."""
    assert type(other) not in classes_of(declared)
    if isinstance(other, list) and item_classes_of(declared):
        assert not item_classes_of(declared).issuperset(map(type, other))


@pytest.mark.parametrize(
    ("value", "declared", "expected"),
    [
        ("a", int, "got str: 'a'"),
        (["a", 1], list[str], "item 1 of list is not an instance of str, got list: ['a', 1]"),
        ({"a": [None]}, dict[str, list[int]],
         "item 0 of value of key 'a' of dict is not an instance of int, got dict: {'a': [None]}"),
        ("a", int | None, "str did not match any element in the union, got str: 'a'"),
        ([{"name": "a", "age": "b"}], list[Entry],
         ("value of key 'age' of item 0 of list is not an instance of int, "
          "got list: [{'age': 'b', 'name': 'a'}]")),
        ({}, Entry, 'dict is missing required key(s): "name", got dict: {}'),
    ],
)  # fmt: skip  # type and expectation belong on one line
def test_what_does_not_fit_is_told_with_its_place(
    value: object, declared: Any, expected: str
) -> None:
    """Which part, what it should be, and what it is."""
    assert misfit(value, declared, "all") == expected


def test_only_the_first_item_is_looked_at_if_so_wished() -> None:
    """The rest of the collection is taken on trust."""
    assert misfit([1, "a"], list[int], "first") is None
    assert misfit(["a", 1], list[int], "first") is not None


@pytest.mark.parametrize("declared", ["int", 1, None, Union, [int], Optional])
def test_what_is_no_type_is_none(declared: object) -> None:
    """A name of a type is not one either."""
    assert not is_type(declared)


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        *((list, True), (list[int], True), (list[int] | None, True), (Optional[list[Any]], True)),  # noqa: UP045  # as above
        *((Annotated[list[int], 1], True), (Annotated[list[int] | None, 1], True)),
        *((list[int] | str, False), (tuple[int, ...], False), (Sequence[int], False), (str, False)),
    ],
    ids=str,
)
def test_lists_are_told_from_others(declared: object, expected: object) -> None:
    """Also where they are optional or annotated."""
    assert is_list(declared) is expected


def test_a_log_is_called_a_list() -> None:
    """That is what it stands for."""
    assert type_name(SharedList) == "list"


def test_plain_types_are_checked_without_typeguard() -> None:
    """It takes its time to import, and most states never need it."""
    code = """
import sys
from detent import ChatMessage, State
types = {"a": str, "b": list[int], "c": list, "d": int | None}
state = State({name: {"type": declared} for name, declared in types.items()})
state.set("a", "x").set("b", [1]).set("c", [{}]).set("d", None)
state.set("messages", [ChatMessage.from_user("hi")]).to_dict
assert not {"typeguard", "cattrs"} & set(sys.modules), sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_a_function_takes_is_told_as_far_as_it_tells() -> None:
    """One that is built in may have no signature."""
    assert takes(lambda one, two=2: one, 1)
    assert takes(lambda *some: some, 3)
    assert takes(max, 2)
    assert not takes(lambda one, *, two: one, 1)
    assert not takes(lambda one: one, 2)


@pytest.mark.parametrize(
    ("declared", "classes"),
    [
        (None, {type(None)}),
        (int, {int}),
        (dict, {dict, FrozenDict}),
        (float, {float, int}),
        (Annotated[int, "n"], {int}),
        (int | None, {int, type(None)}),
    ],
)
def test_some_classes_need_no_look(declared: object, classes: set[type]) -> None:
    """Their own instances have the declared type for sure."""
    assert classes_of(declared) == classes
