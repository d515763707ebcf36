"""Containers that nobody can change, and the list that grows by sharing."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.core.frozen import FrozenDict, FrozenList, Log, freeze, thaw

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=10,
)
CHANGES: list[Callable[[Any], object]] = [
    lambda value: value.clear(),
    lambda value: value.pop(),
    lambda value: value.__setitem__(0, 1),
    lambda value: value.__delitem__(0),
]


@pytest.mark.parametrize("change", CHANGES, ids=["clear", "pop", "set", "delete"])
@pytest.mark.parametrize("value", [FrozenDict({0: 1}), FrozenList([1])])
def test_a_frozen_container_refuses_every_change(
    value: Any, change: Callable[[Any], object]
) -> None:
    """And says what to do."""
    with pytest.raises(TypeError, match="make a copy first"):
        change(value)


@given(JSON)
def test_freezing_keeps_the_value_and_thawing_gives_it_back(value: object) -> None:
    """Equal, as JSON too, and thawed into containers of one's own."""
    frozen = freeze(value)

    assert frozen == value
    assert json.dumps(frozen) == json.dumps(value)
    assert thaw(frozen) == value
    assert freeze(frozen) == frozen
    hash(frozen)


def test_what_was_frozen_is_not_what_was_passed_in() -> None:
    """Changing the original afterwards changes nothing."""
    original: dict[str, Any] = {"a": [1, {"b": 2}]}
    frozen = freeze(original)

    original["a"][1]["b"] = 3

    assert frozen == {"a": [1, {"b": 2}]}


@pytest.mark.parametrize(
    "value", [FrozenDict({"a": FrozenList([1])}), FrozenList([1]), Log([1, 2])]
)
def test_frozen_values_are_copied_and_pickled(value: object) -> None:
    """As what they are."""
    for twin in (copy.deepcopy(value), pickle.loads(pickle.dumps(value))):  # noqa: S301 - our own
        assert twin == value
        assert type(twin) is type(value)


@given(st.lists(st.tuples(st.integers(0, 8), st.lists(st.integers(), max_size=3)), max_size=12))
def test_logs_are_lists_that_share(growths: list[tuple[int, list[int]]]) -> None:
    """Whatever grows from whatever, in any order, each log equals the list that it should."""
    logs: list[Log[int]] = [Log()]
    lists: list[list[int]] = [[]]
    for base, more in growths:
        at = base % len(logs)
        logs.append(logs[at] + more)
        lists.append(lists[at] + more)

    for log, expected in zip(logs, lists, strict=True):
        assert log == expected
        assert list(log) == expected
        assert len(log) == len(expected)
        assert log[1:-1] == expected[1:-1]
        assert log[::-1] == expected[::-1]
        assert [*reversed(log)] == expected[::-1]


def test_a_log_says_that_it_is_a_list() -> None:
    """It prints like one, can be added to one and is found in one."""
    log: Any = Log([1, 2])

    assert isinstance(log, list)
    assert repr(log) == "[1, 2]"
    assert [0] + log == [0, 1, 2]  # noqa: RUF005 - adding is what is tested
    assert sorted(log, reverse=True) == [2, 1]
    assert log != [1, 3]
    assert log[-1] == 2
    with pytest.raises(IndexError, match="outside a list of 2"):
        _ = log[2]


def test_threads_that_grow_one_log_get_each_their_own() -> None:
    """One extends the buffer in place, the others copy; none sees another's items."""
    log = Log(range(100))

    with ThreadPoolExecutor(8) as pool:
        grown = list(pool.map(lambda item: log + (item,), range(64)))  # noqa: RUF005 - as above

    assert [one[-1] for one in grown] == list(range(64))
    assert all(one[:-1] == list(range(100)) for one in grown)
