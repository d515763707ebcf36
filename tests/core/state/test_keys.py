"""A key merges updates into what it holds, or says what is wrong with them."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from copy import deepcopy
from dataclasses import dataclass
from typing import Annotated, Any, cast

import pytest

from detent.core.errors import StateError, StateTypeError
from detent.core.schema.type_checks import type_name
from detent.core.state.handlers import (
    add_numbers,
    append_unique,
    merge_dicts,
    merge_lists,
    replace_values,
    unite_sets,
)
from detent.core.state.keys import UNSET, Key, Write, hold, unknown_key
from detent.core.values.frozen import FrozenList
from detent.core.values.hashes import FEW
from detent.core.values.shared_list import SharedList, bare


@dataclass
class Draft:
    """A dataclass that can be changed."""

    lines: list[str]


def key(declared: Any, handler: Any = replace_values, **more: Any) -> Key[Any, Any]:
    return Key("spot", declared, handler, **more)


def failing(current: object, update: object) -> object:
    raise ZeroDivisionError("by nought")


def words(current: object, update: object) -> object:
    return "words"


def test_a_list_is_held_as_a_log() -> None:
    """And what is held already is held as it is."""
    held = hold("k", [1, [2]])
    assert type(held) is SharedList
    assert held == [1, [2]]
    assert hold("k", held) is held


def test_a_key_takes_a_value_of_its_type() -> None:
    """Frozen on the way in."""
    source = {"a": [1]}
    held = key(dict[str, list[int]]).merge(UNSET, source)
    source["a"].append(2)
    assert held == {"a": [1]}


@pytest.mark.parametrize(
    ("declared", "handler", "update", "expected"),
    [
        (int, replace_values, "1", "holds int, got str: '1'"),
        (list[int], replace_values, ["a"],
         "holds list[int]; item 0 of list is not an instance of int, got list: ['a']"),
        (list[int], merge_lists, [1, "a"],
         "holds list[int]; item 1 of list is not an instance of int, got list: [1, 'a']"),
        (list[int], append_unique, "a",
         "holds list[int]; item 0 of list is not an instance of int, got list: ['a']"),
        (int, words, 1, "holds int and words must return that, got str: 'words'"),
        (int | None, replace_values, "1",
         "holds int | None; str did not match any element in the union, got str: '1'"),
    ],
)  # fmt: skip  # what is wrong and what is said belong together
def test_a_value_of_another_type_is_refused(
    declared: Any, handler: Any, update: object, expected: str
) -> None:
    """With key, expected type, place, and what is there; a handler of the user's is named."""
    with pytest.raises(StateTypeError) as caught:
        key(declared, handler).merge(UNSET, update)
    assert str(caught.value) == f"state key 'spot' {expected}"


def test_a_handler_that_raises_is_named() -> None:
    """Its exception is the cause."""
    with pytest.raises(
        StateError,
        match="the handler failing of state key 'spot' raised ZeroDivisionError: by nought",
    ) as caught:
        key(int, failing).merge(1, 2)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_key_says_that_it_cannot_hold_a_value() -> None:
    """With the reason, whoever made the value."""
    expected = "state key 'spot': a lock can be changed and cannot be copied"
    with pytest.raises(StateTypeError, match=expected):
        key(Any).merge(UNSET, threading.Lock())
    with pytest.raises(StateTypeError, match=expected):
        Write("spot", threading.Lock())
    with pytest.raises(StateTypeError, match=expected):
        key(Any, lambda current, update: threading.Lock()).merge(UNSET, 1)


def test_another_handler_merges_one_update() -> None:
    """In place of the key's own."""
    assert key(int).merge(1, 2, add_numbers) == 3
    assert key(int, add_numbers).merge(1, 2, replace_values) == 2


def test_a_handler_gets_none_where_nothing_is() -> None:
    """As handlers of dict schemas expect."""
    seen: list[object] = []

    def look(current: object, update: object) -> object:
        seen.append(current)
        return update

    key(int, look).merge(UNSET, 1)
    assert seen == [None]


def test_a_handler_cannot_change_what_is_held() -> None:
    """It gets frozen containers, and copies of what can be changed."""
    held = hold("k", Draft(["a"]))

    def spoil(current: Draft, update: object) -> Draft:
        current.lines.append("b")
        return current

    assert key(Draft, spoil).merge(held, Draft([])) != held
    assert bare(held) == Draft(["a"])


def test_a_handler_cannot_keep_a_hold_on_what_it_returns() -> None:
    """What it returned is frozen, or copied."""
    draft, numbers = Draft(["a"]), [1]
    held = key(list, lambda current, update: [draft, numbers]).merge(UNSET, 1)
    draft.lines.append("b")
    numbers.append(2)
    assert held == [Draft(["a"]), [1]]


class Looked(type):
    """The class of `Item`: it counts how often somebody asks whether a value is one."""

    looks = 0

    def __instancecheck__(cls, value: object) -> bool:
        Looked.looks += 1
        return True


class Item(metaclass=Looked):
    """A value whose class says that nobody can change it, and which counts who asks."""

    def __deepcopy__(self, memo: object) -> Item:
        Looked.looks += 1
        return self


class OfAnother(Item):
    """Of no class that is known by itself."""


def looks_of_writes(declared: Any, handler: Any, count: int) -> int:
    """How often values are looked at that so many writes of eight add to a key."""
    Looked.looks = 0
    spot, held = key(declared, handler), cast(object, UNSET)
    for turn in range(count):
        items = [OfAnother() for _ in range(8)]
        update: Any = {(turn, n): item for n, item in enumerate(items)}
        held = spot.merge(held, update if handler is merge_dicts else items)
    assert len(bare(held)) == 8 * count
    return Looked.looks


@pytest.mark.parametrize(
    ("declared", "handler"),
    [
        (dict[tuple[int, int], Item], merge_dicts),
        (Mapping[Any, Item] | None, merge_dicts),
        (Annotated[dict[Any, Item], "what they mean"], merge_dicts),
        (set[Item], unite_sets),
        (AbstractSet[Item], unite_sets),
        (list[Item], merge_lists),
    ],
    ids=["dict", "optional mapping", "annotated dict", "set", "abstract set", "list"],
)
def test_a_write_looks_at_what_it_adds(declared: Any, handler: Any) -> None:
    """Whoever adds to a large value does not have all of it checked and frozen anew."""
    few, many = (looks_of_writes(declared, handler, count) for count in (16, 64))
    assert few > 0
    assert many <= 4.5 * few


@pytest.mark.parametrize(
    ("declared", "handler", "current", "update", "expected"),
    [
        (dict[str, int], merge_dicts, {"a": 1, "b": 2}, {"b": 3}, {"a": 1, "b": 3}),
        (dict[str, list[int]], merge_dicts, {"a": [1]}, {"b": [2]}, {"a": [1], "b": [2]}),
        (dict[str, int], merge_dicts, {"a": 1}, None, {"a": 1}),
        (set[int], unite_sets, {1}, [2, 1, 2], {1, 2}),
        (set[tuple[int, ...]], unite_sets, {(1,)}, (2,), None),
        (set[str], unite_sets, {"a"}, "bc", {"a", "bc"}),
        (frozenset[int], unite_sets, frozenset({1}), {2}, None),
        (Any, merge_dicts, {"a": 1}, {"b": [2]}, {"a": 1, "b": [2]}),
    ],
)
def test_what_is_joined_is_frozen_and_fits(
    declared: Any, handler: Any, current: Any, update: Any, expected: Any
) -> None:
    """As if the handler had been given the whole; None is what does not fit."""
    spot, source = key(declared, handler), deepcopy(update)
    before = hold("spot", current)
    if expected is None:
        with pytest.raises(StateTypeError, match="holds"):
            spot.merge(before, source)
    else:
        held = spot.merge(before, source)
        assert held == hold("spot", expected)
        assert type(held) is type(before)
        assert hash(held) == hash(hold("spot", expected))
        assert list(bare(held)) == list(bare(hold("spot", expected)))
    assert before == current


@pytest.mark.parametrize(
    ("declared", "current", "update"),
    [
        (dict[str, int], {"a": 1}, {"b": "2"}),
        (dict[str, int] | dict[str, str], {"a": 1}, {"b": "2"}),
        (dict[str, int], {"a": 1}, 5),
    ],
)
def test_what_does_not_fit_a_dict_is_told_of_the_whole(
    declared: Any, current: Any, update: Any
) -> None:
    """In the same words as where the handler is one's own."""

    def own(before: Any, new: Any) -> Any:
        return {**before, **new}

    own.__module__, own.__name__ = merge_dicts.__module__, merge_dicts.__name__
    told = []
    for handler in (merge_dicts, own):
        with pytest.raises(StateError) as caught:
            key(declared, handler).merge(hold("spot", current), update)
        told.append(str(caught.value))
    assert told[0] == told[1]


def test_what_can_be_changed_is_joined_and_copied() -> None:
    """Behind a guard, as before."""
    spot, draft = key(dict[str, Draft], merge_dicts), Draft(["a"])
    held = spot.merge(spot.merge(UNSET, {"a": draft}), {"b": draft})
    held = spot.merge(held, {})
    draft.lines.append("b")
    assert bare(held) == {"a": Draft(["a"]), "b": Draft(["a"])}
    mixed = key(dict[str, Any], merge_dicts)
    held = mixed.merge(mixed.merge(UNSET, {"a": 1}), {"b": draft})
    draft.lines.append("c")
    assert bare(held) == {"a": 1, "b": Draft(["a", "b"])}


def test_many_small_writes_of_one_hash_are_refused() -> None:
    """Few at a time come to many."""
    spot, held = key(set[int], unite_sets), hold("spot", {0})
    for n in range(1, FEW):
        held = spot.merge(held, [n * (2**61 - 1)])
    with pytest.raises(StateError, match=r"unite_sets .* more than 64 different"):
        spot.merge(held, [-1, -2])


def joined(current: Any, update: Any) -> Any:
    return current + update


@pytest.mark.parametrize("handler", [merge_lists, append_unique])
def test_only_what_is_new_is_checked(handler: Any) -> None:
    """What a list held before has been checked before: the cost does not grow with it."""
    unchecked = SharedList(["not an int"])
    assert key(list[int], handler).merge(unchecked, [1]) == ["not an int", 1]
    with pytest.raises(StateTypeError, match="item 0 of list"):
        key(list[int], handler).merge(unchecked, ["nor this"])
    with pytest.raises(StateTypeError, match="item 0 of list"):
        key(list[int], joined).merge(unchecked, [1])


def test_a_handler_of_ones_own_gets_real_lists() -> None:
    """It may ask for their class, and add to a plain copy."""
    seen: list[tuple[type, type]] = []

    def look(current: Any, update: Any) -> Any:
        seen.append((type(current), type(update)))
        return joined(current, update)

    assert key(list[int], look).merge(SharedList([1]), [2]) == [1, 2]
    assert seen == [(FrozenList, FrozenList)]


def test_a_union_of_lists_is_checked_as_a_whole() -> None:
    """New items of the one kind behind old ones of the other are of neither."""
    either = key(list[int] | list[str], merge_lists)
    with pytest.raises(StateTypeError, match="union"):
        either.merge(either.merge(UNSET, [1]), ["a"])


def test_the_first_item_alone_is_checked_if_so_wished() -> None:
    """As the key says."""
    assert key(list[int], check="first").merge(UNSET, [1, "a"]) == [1, "a"]
    with pytest.raises(StateTypeError):
        key(list[int], check="first").merge(UNSET, ["a", 1])


def test_a_write_holds_its_value_from_the_start() -> None:
    """A tool that changes its list later changes no write."""
    source = [Draft(["a"])]
    write = Write("spot", source)
    source[0].lines.append("b")
    source.append(Draft([]))
    write.value[0].lines.append("c")
    assert write.value == [Draft(["a"])]
    assert write == Write("spot", [Draft(["a"])])
    assert repr(write) == "Write('spot', [Draft(lines=['a'])])"
    assert repr(Write("spot", 1, add_numbers)) == "Write('spot', 1, add_numbers)"


def test_a_key_puts_a_write_that_knows_where_it_is_from() -> None:
    """Which makes it no other write."""
    spot = key(int)
    assert spot.put(1) == Write("spot", 1)
    assert spot.put(1).source is spot
    assert spot.put(1, add_numbers) == Write("spot", 1, add_numbers)


def test_keys_with_equal_parts_are_equal() -> None:
    """Handlers do not count: two lambdas never are."""
    assert key(list[int], lambda current, update: 1) == key(list[int], merge_lists)
    assert key(list[int]) != key(list[str])
    assert key(int, default=1) != key(int, default=2)


def test_unset_is_called_unset() -> None:
    """Where a default is shown."""
    assert repr(UNSET) == "unset"
    assert type_name(int) == "int"


def test_an_unknown_key_that_is_like_none_gets_no_suggestion() -> None:
    """Only what there is."""
    assert unknown_key("x", ["b", "a"]) == "'x' is not a key of this state, which has 'a', 'b'"


def test_a_handler_that_adds_what_does_not_fit_is_named() -> None:
    """All that it gave is looked at."""
    expected = "holds list[int] and joined must return that; item 1 of list"
    with pytest.raises(StateTypeError, match=re.escape(expected)):
        key(list[int], joined).merge(SharedList([1]), ["a"])
