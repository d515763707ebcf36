"""What is frozen looks like a plain container and cannot be changed by any of its methods."""

from __future__ import annotations

import copy
import json
import pickle
from contextlib import suppress
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.core.values.frozen import (
    FrozenDict,
    FrozenList,
    FrozenSet,
    freeze,
    is_deep,
    thaw,
)

FROZEN: list[tuple[Any, type]] = [
    (FrozenDict({"b": 1, "a": 2}), dict),
    (FrozenList([3, 1, 2]), list),
    (FrozenSet({3, 1, 2}), set),
]
ARGUMENTS: list[tuple[Any, ...]] = [
    (), (1,), (0,), ("a",), ("a", 7), (0, 7), ([7],), ({"a": 7},), ({3},), (2,), (slice(0, 1), [7]),
]  # fmt: skip  # one after another would fill a page
METHODS = [
    pytest.param(value, name, id=f"{plain.__name__}.{name}")
    for value, plain in FROZEN
    for name in dir(plain)
    if name not in {"__class__", "__getattribute__", "__init_subclass__", "__new__"}
]

scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
plain_values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        | st.tuples(inner, inner)
        | st.sets(scalars, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(("value", "name"), METHODS)
def test_no_method_changes_a_frozen_container(value: Any, name: str) -> None:
    """Every method that the plain container has is called in every way that fits."""
    before, shown = thaw(value), repr(value)
    for arguments in ARGUMENTS:
        with suppress(Exception):
            getattr(value, name)(*arguments)
    assert value == before
    assert repr(value) == shown


@pytest.mark.parametrize(("value", "plain"), FROZEN)
def test_a_frozen_container_passes_for_a_plain_one(value: Any, plain: type) -> None:
    """It is an instance of it, equals it, prints like it and survives copying and pickling."""
    assert isinstance(value, plain)
    assert value == thaw(value)
    assert type(thaw(value)) is plain
    assert repr(value) == repr(thaw(value))
    for again in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):  # noqa: S301  # our own
        assert again == value
        assert type(again) is type(value)


def test_json_encodes_what_is_frozen() -> None:
    """Without a helper of ours."""
    value = freeze({"a": [1, {"b": []}]})
    assert json.loads(json.dumps(value)) == {"a": [1, {"b": []}]}


def test_a_frozen_container_is_hashable_when_its_items_are() -> None:
    """Equal ones have equal hashes; a list inside a plain dict has none."""
    assert hash(freeze({"a": [1], "b": {2}})) == hash(freeze({"b": {2}, "a": [1]}))
    assert len({freeze([1, 2]), freeze([1, 2]), freeze({1, 2})}) == 2
    with pytest.raises(TypeError):
        hash(FrozenDict({"a": []}))


def test_a_refused_change_says_what_to_do() -> None:
    """The message names thaw."""
    with pytest.raises(TypeError, match=r"a FrozenDict cannot be changed; .* thaw"):
        FrozenDict({"a": 1})["a"] = 2


@given(plain_values)
def test_freezing_changes_no_value(value: object) -> None:
    """What is frozen equals what it was made of, and so does what is thawed again."""
    assert freeze(value) == value
    assert thaw(freeze(value)) == value
    assert type(thaw(freeze(value))) is type(value)


@given(plain_values)
def test_what_is_frozen_is_not_frozen_again(value: object) -> None:
    """It is given back itself: freezing twice copies nothing."""
    frozen = freeze(value)
    assert freeze(frozen) is frozen


def test_a_change_of_the_source_does_not_reach_what_was_frozen() -> None:
    """However deep it is made."""
    inner: list[int] = [1]
    source = {"a": (inner, {"b": inner})}
    frozen = freeze(source)
    inner.append(2)
    source["c"] = ([], {})
    assert frozen == {"a": ([1], {"b": [1]})}


def test_other_mappings_and_lists_count_as_plain_ones() -> None:
    """Values of JSON come in many classes."""

    class Own(dict[str, Any]):
        """A class that writes and reads itself."""

    assert type(freeze({"a": Own(b=[])})["a"]) is FrozenDict  # type: ignore[index]  # it is a dict
    assert type(freeze(Own(b=[]))["b"]) is FrozenList  # type: ignore[index]  # it is a dict


def test_a_list_of_a_kind_of_its_own_is_frozen_as_a_list() -> None:
    """As a mapping is as a dict."""

    class Page(list[Any]):
        pass

    frozen: Any = freeze(Page([[1]]))
    assert frozen == [[1]]
    assert (type(frozen), type(frozen[0])) == (FrozenList, FrozenList)


def test_a_dict_of_atoms_is_frozen() -> None:
    """Also one of another class that nobody can change through it, but its owner can."""
    source = {"a": 1}
    assert type(freeze(source)) is FrozenDict
    assert type(freeze(MappingProxyType(source))) is FrozenDict


def test_the_caller_decides_on_all_that_is_no_plain_container() -> None:
    """Keys as well as items."""

    def leaf(value: object) -> str:
        return type(value).__name__

    assert freeze({1j: 1, Fraction(1): Fraction(2)}, leaf) == {1j: 1, "Fraction": "Fraction"}


@pytest.mark.parametrize(
    ("value", "levels"),
    [
        ("a", 0),
        ([], 0),
        ([1, "a"], 1),
        ([[], {}], 1),
        ([1, [2]], 2),
        ({"a": (1, [MappingProxyType({"b": 2})])}, 4),
    ],
)
def test_values_are_as_deep_as_what_stands_deepest_in_them(value: object, levels: int) -> None:
    """In any mapping, list or tuple; an empty one has nothing in it."""
    assert [is_deep(value, deep) for deep in range(1, 6)] == [
        deep <= levels for deep in range(1, 6)
    ]
