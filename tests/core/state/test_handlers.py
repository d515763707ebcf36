"""The handlers do what they say and keep their laws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.core.state.handlers import (
    add_numbers,
    append_unique,
    append_unique_by,
    keep_last,
    keep_max,
    keep_min,
    merge_dicts,
    merge_lists,
    replace_values,
    unite_sets,
)
from detent.core.values.hashes import FEW, MOST

Handler = Callable[[Any, Any], Any]

lists = st.lists(st.integers(0, 9), max_size=6)
texts = st.lists(st.sampled_from("aAbB"), max_size=6)
unhashable = st.lists(st.lists(st.integers(0, 2), max_size=2), max_size=4)
dicts = st.dictionaries(st.sampled_from("abc"), st.integers(), max_size=3)
sets = st.sets(st.integers(0, 9), max_size=6)
numbers = st.integers()


def first_of(item: Any) -> object:
    """What stands at the beginning."""
    return item[0]


def joined(one: Any, other: Any) -> Any:
    """Two updates as one."""
    return one + other if isinstance(one, list) else {**one, **other}


LISTS: list[tuple[Handler, st.SearchStrategy[Any]]] = [
    *((merge_lists, lists), (append_unique, lists), (append_unique, unhashable)),
    *((append_unique_by(str.lower), texts), (keep_last(3), lists)),
]
IDEMPOTENT: list[tuple[Handler, st.SearchStrategy[Any]]] = [
    *((replace_values, numbers), (append_unique, lists), (append_unique_by(str.lower), texts)),
    *((merge_dicts, dicts), (unite_sets, sets), (keep_max, numbers), (keep_min, numbers)),
]
COMMUTATIVE: list[tuple[Handler, st.SearchStrategy[Any]]] = [
    *((unite_sets, sets), (add_numbers, numbers), (keep_max, numbers), (keep_min, numbers)),
]
IDENTITIES: list[tuple[Handler, st.SearchStrategy[Any], Any]] = [
    *((merge_lists, lists, []), (keep_last(20), lists, []), (merge_dicts, dicts, {})),
    *((unite_sets, sets, set()), (add_numbers, numbers, 0)),
]


@pytest.mark.parametrize(("handler", "updates"), [*LISTS, (merge_dicts, dicts)])
@given(data=st.data())
def test_two_updates_are_as_good_as_one(
    handler: Handler, updates: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    """Associative: merged one by one, or as one that is made of both."""
    start, one, other = (data.draw(updates) for _ in range(3))
    start = handler(None, start)
    assert handler(handler(start, one), other) == handler(start, joined(one, other))


@pytest.mark.parametrize(("handler", "values"), [*IDEMPOTENT, *COMMUTATIVE])
@given(data=st.data())
def test_operations_are_associative(
    handler: Handler, values: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    """Where update and value are of one kind."""
    a, b, c = (handler(None, data.draw(values)) for _ in range(3))
    assert handler(handler(a, b), c) == handler(a, handler(b, c))


@pytest.mark.parametrize(("handler", "updates"), IDEMPOTENT)
@given(data=st.data())
def test_an_update_that_comes_twice_counts_once(
    handler: Handler, updates: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    """Idempotent: a tool that is repeated does no harm."""
    current, update = handler(None, data.draw(updates)), data.draw(updates)
    once = handler(current, update)
    assert handler(once, update) == once


@pytest.mark.parametrize(("handler", "updates"), COMMUTATIVE)
@given(data=st.data())
def test_updates_may_come_in_any_order(
    handler: Handler, updates: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    """Commutative: the result is the same."""
    one, other = data.draw(updates), data.draw(updates)
    assert handler(one, other) == handler(other, one)


@pytest.mark.parametrize(("handler", "values", "nothing"), IDENTITIES)
@given(data=st.data())
def test_the_empty_update_changes_nothing(
    handler: Handler, values: st.SearchStrategy[Any], nothing: Any, data: st.DataObject
) -> None:
    """Identity: before a value and behind it."""
    value = data.draw(values)
    assert handler(value, nothing) == value
    assert handler(nothing, value) == value
    assert handler(None, value) == value


@pytest.mark.parametrize(
    ("handler", "current", "update", "expected"),
    [
        *((merge_lists, [1], (2,), [1, 2]), (merge_lists, [1], 2, [1, 2])),
        *(
            (merge_lists, [1], None, [1]),
            (merge_lists, None, None, []),
            (merge_lists, 1, 2, [1, 2]),
        ),
        *((merge_lists, None, "ab", ["ab"]), (merge_lists, [1], {2}, [1, {2}])),
        *((append_unique, [1], [1, 2, 2], [1, 2]), (append_unique, None, "ab", ["ab"])),
        *(
            (append_unique, [[1]], [[1], [2]], [[1], [2]]),
            (append_unique, [1, [1]], [[1], 1], [1, [1]]),
        ),
        *((keep_last(2), [1, 2], [3], [2, 3]), (keep_last(2), None, [1, 2, 3], [2, 3])),
        *((keep_last(2), [1], None, [1]), (merge_dicts, {"a": 1}, {"a": 2}, {"a": 2})),
        *((merge_dicts, None, None, {}), (unite_sets, {"a"}, "bc", {"a", "bc"})),
        *((unite_sets, None, [1, 1], {1}), (unite_sets, {1}, frozenset({2}), {1, 2})),
        *(
            (add_numbers, None, 5, 5),
            (add_numbers, 1.5, 1, 2.5),
            (keep_max, None, 1, 1),
            (keep_max, 1, 2, 2),
        ),
        *((keep_min, None, 1, 1), (keep_min, 1, 2, 1), (replace_values, 1, None, None)),
    ],
)
def test_handlers_merge(handler: Handler, current: Any, update: Any, expected: Any) -> None:
    """An update, or what stands for one, into a value, or into nothing."""
    assert handler(current, update) == expected


def test_the_first_of_several_with_one_key_stays() -> None:
    """And equal ones keep their place in the same way."""
    assert append_unique_by(str.lower)(["B"], ["b", "A", "a"]) == ["B", "A"]
    assert keep_max(1.0, 1) is not keep_max(1, 1.0)


@pytest.mark.parametrize("count", [0, "3"])
def test_at_least_one_item_is_kept(count: Any) -> None:
    """To keep none would be no list, and a text is no number."""
    with pytest.raises(ValueError, match=f"a number of items, at least one, got {count!r}"):
        keep_last(count)


def test_items_that_have_no_hash_are_taken_once_as_well() -> None:
    """Whether they come in one update or in two."""
    first, second = NoHash(1), NoHash(2)

    assert list(append_unique([first], [first, second, second])) == [first, second]


@dataclass
class NoHash:
    """Equal by value, and without a hash."""

    value: int


@pytest.mark.parametrize(
    ("handler", "make"),
    [
        (append_unique, list),
        (append_unique, lambda numbers: [[n] for n in numbers]),
        (append_unique_by(first_of), lambda numbers: [(n, NoHash(n)) for n in numbers]),
        (unite_sets, list),
        (merge_dicts, lambda numbers: dict.fromkeys(numbers, "x")),
    ],
    ids=["unique", "unique lists", "unique by", "union", "merged"],
)
def test_values_of_one_hash_are_not_joined(handler: Handler, make: Callable[..., Any]) -> None:
    """Of a tool that hands on what a model wrote; a few at a time come to many as well."""
    alike = [n * (2**61 - 1) for n in range(FEW + 1)]
    with pytest.raises(ValueError, match="has more than 64 different values of one hash"):
        handler(make(alike[:MOST]), make(alike[MOST:]))
    with pytest.raises(ValueError, match="has more than 64 different values of one hash"):
        handler(None, make(alike))
    others = [n * 2**61 for n in range(1, FEW + 2)]
    assert len(handler(make(others[:MOST]), make(others))) == FEW + 1


def test_many_items_without_a_hash_are_still_taken() -> None:
    """Whatever else there is."""
    items = [*map(NoHash, range(MOST + 2)), *range(FEW)]
    assert len(append_unique(items, items)) == len(items)


class Loud:
    """Without a hash, and with an equality of its own, which counts how often it is asked."""

    asked = 0

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        Loud.asked += 1
        return isinstance(other, Loud) and self.name.lower() == other.name.lower()

    __hash__ = None  # type: ignore[assignment]  # as Python has it


def test_an_equality_of_its_own_is_asked_and_not_too_often() -> None:
    """Nobody else knows what is equal to such an item: of different ones there may be a few."""
    a_few = [Loud(f"{n}") for n in range(MOST)]
    taken = append_unique([Loud("A"), "a"], [Loud("a"), Loud("B"), Loud("b"), "a"])
    assert [getattr(one, "name", one) for one in taken] == ["A", "a", "B"]
    assert len(append_unique(a_few, [*a_few, *range(FEW)])) == MOST + FEW
    Loud.asked = 0
    with pytest.raises(ValueError, match="of a class with an equality of its own and no hash"):
        append_unique([], [Loud(f"{n}") for n in range(40 * FEW)])
    assert Loud.asked < 40 * FEW * MOST
