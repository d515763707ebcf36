"""A log is a list that grows by sharing and never changes."""
# ruff: noqa: RUF005  # to join by + is what is tested

from __future__ import annotations

import copy
import json
import pickle
import sys
import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

import cattrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, rule
from pydantic import TypeAdapter
from typeguard import check_type

from detent.core.values.frozen import FrozenList
from detent.core.values.shared_list import SharedList, bare, read

SIZES = (10, 1_000, 100_000)


@dataclass
class Draft:
    """A dataclass that can be changed."""

    text: str


class LogsAndLists(RuleBasedStateMachine):
    """Logs that grow from one another in any order hold what lists would hold."""

    pairs: Bundle[tuple[SharedList[int], list[int]]] = Bundle("pairs")

    @rule(target=pairs, items=st.lists(st.integers(), max_size=20))
    def begin(self, items: list[int]) -> tuple[SharedList[int], list[int]]:
        """A log and a list of the same items."""
        return SharedList(items), list(items)

    @rule(target=pairs, pair=pairs, items=st.lists(st.integers(), max_size=20))
    def append(
        self, pair: tuple[SharedList[int], list[int]], items: list[int]
    ) -> tuple[SharedList[int], list[int]]:
        """Both have grown by the same items."""
        return pair[0] + items, pair[1] + items

    @rule(target=pairs, one=pairs, other=pairs)
    def join(
        self, one: tuple[SharedList[int], list[int]], other: tuple[SharedList[int], list[int]]
    ) -> tuple[SharedList[int], list[int]]:
        """Both have grown by others."""
        return one[0] + other[0], one[1] + other[1]

    @rule(pair=pairs, start=st.none() | st.integers(-40, 40), stop=st.none() | st.integers(-40, 40))
    def compare(
        self, pair: tuple[SharedList[int], list[int]], start: int | None, stop: int | None
    ) -> None:
        """They read the same."""
        log, items = pair
        assert log == items
        assert list(log) == items
        assert len(log) == len(items)
        assert list(reversed(log)) == items[::-1]
        for step in (None, 2, -1, -3):
            assert log[start:stop:step] == items[start:stop:step]
        assert [log[at] for at in range(-len(items), len(items))] == items + items

    @rule(one=pairs, other=pairs)
    def what_is_beyond_is_all_that_can_be_new(
        self, one: tuple[SharedList[int], list[int]], other: tuple[SharedList[int], list[int]]
    ) -> None:
        """The rest is shared."""
        log, items = one
        new = log.beyond(other[0])
        shared = len(items) - len(new)
        assert new == items[shared:]
        assert other[1][:shared] == items[:shared]


TestLogsAndLists = LogsAndLists.TestCase


def test_what_is_new_does_not_depend_on_how_a_log_has_grown() -> None:
    """A fork copies short lists; what is in them is no newer for that."""
    log = SharedList(["a"])
    grown = log + ["c"]
    forked = log + ["d"]

    assert grown.beyond(log) == ["c"]
    assert forked.beyond(log) == ["d"]
    assert SharedList(["b"]).beyond(log) == ["b"]


def test_a_log_reads_like_a_list() -> None:
    """In all the ways that do not change it."""
    log: Any = SharedList([3, 1, 2])
    assert (isinstance(log, list), isinstance(log, Sequence)) == (False, True)
    assert (log, str(log), f"{log}") == ([3, 1, 2], "[3, 1, 2]", "[3, 1, 2]")
    expected = [3, 1, 2]
    assert expected == log == expected
    assert log != [3, 1]
    assert log != (3, 1, 2)
    assert 2 in log
    assert 7 not in log
    assert (log.index(1), log.count(3), sorted(log), max(log)) == (1, 1, [1, 2, 3], 3)
    assert (log[0], log[-1], log[1:], log[::-1]) == (3, 2, [1, 2], [2, 1, 3])
    assert log[2:1] == log[1:1] == log[9:] == []
    assert type(log[1:]) is FrozenList
    assert (log + [4], log + (4,), [0] + log) == ([3, 1, 2, 4], [3, 1, 2, 4], [0, 3, 1, 2])
    assert [*log, *log] == [3, 1, 2, 3, 1, 2]
    assert log.copy() == [3, 1, 2]
    assert bool(log)
    assert not SharedList()
    with pytest.raises(IndexError, match="index 3 is outside a list of 3"):
        log[3]
    with pytest.raises(TypeError):
        _ = log + 1


def test_a_log_behind_another_one_reads_like_a_list() -> None:
    """Two that grow from one are not of one piece."""
    trunk = SharedList(range(8)) + [8]
    _, branch = trunk + ["left"], trunk + ["right"]

    assert branch._before is not None
    assert [branch[place] for place in (0, 8, 9, -10)] == [0, 8, "right", 0]
    assert branch[2:] == [2, 3, 4, 5, 6, 7, 8, "right"]
    assert branch.beyond(SharedList([0])) == [1, 2, 3, 4, 5, 6, 7, 8, "right"]


def test_a_log_is_taken_apart_by_match() -> None:
    """By the patterns for sequences."""
    match SharedList([1, 2, 3]):
        case [first, *rest]:
            assert (first, rest) == (1, [2, 3])
        case _:
            pytest.fail("no sequence")


CHANGES = (
    *("append(1)", "extend([1])", "insert(0, 1)", "remove(1)", "clear()", "pop()", "sort()"),
    *("reverse()", "__setitem__(0, 1)", "__delitem__(0)"),
)


@pytest.mark.parametrize("change", CHANGES)
def test_a_log_refuses_every_change(change: str) -> None:
    """And says where changes are made."""
    log = SharedList([1])
    with pytest.raises(TypeError, match="write to the state"):
        eval(f"log.{change}", {"log": log})  # noqa: S307  # of our own
    assert log == [1]


def test_adding_to_a_name_gives_the_name_another_log() -> None:
    """As with a tuple: the old one stays."""
    old = new = SharedList([1])
    new += [2]
    assert old == [1]
    assert new == [1, 2]


def test_nothing_more_gives_the_log_itself() -> None:
    """A log that does not grow takes no place."""
    log = SharedList([1])
    assert log.followed_by([]) is log
    assert log + [] is log


def test_copies_of_a_log_are_the_log_itself() -> None:
    """There is nothing to protect; only pickling makes another one."""
    log = SharedList([1])
    assert copy.copy(log) is log
    assert copy.deepcopy(log) is log
    assert pickle.loads(pickle.dumps(log)) == log  # noqa: S301  # our own


def test_equal_logs_have_equal_hashes() -> None:
    """Whatever they grew from."""
    assert hash(SharedList([1]) + [2]) == hash(SharedList([1, 2])) == hash(FrozenList([1, 2]))
    with pytest.raises(TypeError):
        hash(SharedList([Draft("a")]))


def test_what_a_reader_gets_is_a_list_to_every_library() -> None:
    """Those that ask isinstance, the C code of json, and pydantic."""
    value: Any = read(SharedList([1, 2]))
    assert type(value) is FrozenList
    assert check_type(value, list[int]) is value
    assert cattrs.unstructure(value) == [1, 2]
    assert cattrs.structure(value, list[str]) == ["1", "2"]
    assert TypeAdapter(list[int]).validate_python(value) == [1, 2]
    assert json.dumps(value) == "[1, 2]"


def test_items_that_can_change_are_read_in_copies() -> None:
    """Each of them when it is read, not the whole list."""
    draft = Draft("a")
    log: SharedList[Any] = SharedList([draft, 1]) + [draft]
    draft.text = "b"
    log[0].text = "c"
    for item in log:
        if isinstance(item, Draft):
            item.text = "d"
    assert log == [Draft("a"), 1, Draft("a")]
    assert Draft("a") in log
    assert repr(log) == repr([Draft("a"), 1, Draft("a")])
    assert [*map(type, bare(log))] == [Draft, int, Draft]
    assert bare(log)[0] is bare(log)[0]


def test_the_items_of_a_log_are_frozen() -> None:
    """Whoever makes it, and however it grows."""
    inner: list[int] = [1]
    log: SharedList[Any] = SharedList([inner]) + [{"a": inner}]
    inner.append(2)
    assert log == [[1], {"a": [1]}]
    with pytest.raises(TypeError, match="cannot be changed"):
        log[0].append(2)


def grown(log: SharedList[int], how: str) -> SharedList[int]:
    """The log with ten more items, as the newest of its buffer or as a fork of it."""
    if how == "fork":
        _ = log + [0]
    return log + list(range(10))


@pytest.mark.parametrize("how", ["newest", "fork"])
def test_growing_costs_the_same_at_any_length(how: str) -> None:
    """Within twice the time; the least of many, for others use the machine too."""
    logs = {size: SharedList(range(size)) for size in SIZES}
    least = dict.fromkeys(SIZES, sys.maxsize)
    for _ in range(300):
        for size in SIZES:
            begun = perf_counter_ns()
            log = grown(logs[size], how)
            least[size] = min(least[size], perf_counter_ns() - begun)
            logs[size] = log if how == "newest" else logs[size]
    assert max(least.values()) <= 2 * min(least.values())


@pytest.mark.parametrize("how", ["chain", "forks"])
def test_ten_thousand_logs_take_the_memory_of_one(how: str) -> None:
    """Those that grew from one another, and those that all grew from one."""
    first = SharedList(range(1_000))
    kept = [first + [0]]
    tracemalloc.start()
    for _ in range(10_000):
        kept.append((kept[-1] if how == "chain" else first) + [0])
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size / 10_000 < 1_000 * 8 / 10


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 40)), max_size=200))
def test_a_log_has_few_pieces_however_it_grew(growth: list[tuple[bool, int]]) -> None:
    """A fork after every step, or after none: at most log2 of the length, and one."""
    log = SharedList([0])
    for forks, count in growth:
        if forks:
            _ = log + [0]
        log = log + [0] * count
    pieces, piece = 1, log
    while piece._before is not None:
        pieces, piece = pieces + 1, piece._before
    assert pieces <= len(log).bit_length() + 1


def test_threads_may_grow_and_read_one_log() -> None:
    """Each gets its own items behind the shared ones, whoever extends the buffer."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    logs = [SharedList(range(50)) for _ in range(200)]
    gate = threading.Barrier(4)
    ends: dict[int, list[SharedList[int]]] = {}

    def grow_all(number: int) -> None:
        ends[number] = []
        for log in logs:
            gate.wait()
            ends[number].append(log + [number] * 20 + [number])
            assert sum(1 for _ in log) == 50

    threads = [threading.Thread(target=grow_all, args=(number,)) for number in range(4)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    for number, grown_logs in ends.items():
        assert grown_logs == [[*range(50), *[number] * 21]] * len(logs)


class Interrupted(dict[int, bool]):
    """A buffer's tip at which another thread gets a turn before or after each call."""

    before = True
    turn: Callable[[], None] | None = None

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name in {"turn", "give_turn"} or not callable(found):
            return found

        def interrupted(*args: Any) -> Any:
            self.give_turn(self.before)
            result = found(*args)
            self.give_turn(not self.before)
            return result

        return interrupted

    def give_turn(self, now: object) -> None:
        """Let the other thread work, if it is its turn now."""
        if now and self.turn is not None:
            turn, self.turn = self.turn, None  # which is not interrupted itself
            turn()
            self.turn = turn


@pytest.mark.parametrize("before", [True, False])
def test_another_thread_may_come_between_any_two_steps(before: Any) -> None:
    """A log that is grown while it is being grown gives each its own items."""
    log = SharedList(range(5))
    buffer = log._buffer
    buffer.tip = tip = Interrupted(buffer.tip)
    tip.before = before
    ends: list[SharedList[int]] = []
    tip.turn = lambda: ends.append(log + [100 + len(ends)])
    mine = log + [7, 8]
    tip.turn = None
    assert mine == [*range(5), 7, 8]
    assert ends == [[*range(5), 100 + number] for number in range(len(ends))]
    assert ends
    assert log == [*range(5)]


def test_what_is_beyond_may_be_of_a_class_that_can_change() -> None:
    """It is looked at as it is."""
    log: SharedList[Any] = SharedList(["a"])
    grown = log + [Counter("aab")]

    assert grown.beyond(log) == [Counter("aab")]
    assert type(grown.beyond(log)[0]) is Counter
