"""Places: which of the runs that wait may go on, so that no more do so at once than may."""

from __future__ import annotations

from collections import Counter, OrderedDict
from heapq import heappop, heappush
from itertools import count
from typing import TypeAlias

from attrs import field, frozen
from attrs.validators import ge, optional

Group: TypeAlias = tuple[str, str]
"""An agent and a key: runs of one group wait for the same places."""
_Heap: TypeAlias = list[tuple[int, Group]]


@frozen
class HostLimits:
    """How much a host does at once.

    Attributes:
        running: how many runs go on at once.
        per_agent: how many of one agent; None is as many as there are places.
        per_key: how many of one key, as the host's `key_of` says it.
        waiting: how many runs may wait for a place before `start` refuses another one.

    Raises:
        ValueError: one of them is below 1.
    """

    running: int = field(default=256, validator=ge(1))
    per_agent: int | None = field(default=None, validator=optional(ge(1)))
    per_key: int | None = field(default=None, validator=optional(ge(1)))
    waiting: int = field(default=10_000, validator=ge(1))


class Places:
    """Runs that wait for a place, and how many places are taken.

    Of those that may go on, the one that has waited longest is first. Nothing here takes longer
    because more runs wait, but for the logarithm of the number of groups.
    """

    def __init__(self, limits: HostLimits) -> None:
        self.limits = limits
        self._numbers = count()
        self._queues: dict[Group, OrderedDict[str, int]] = {}  # each group of them is in one heap
        self._ready: _Heap = []  # groups with somebody who waits, by who has waited longest
        self._parked: dict[tuple[int, str], _Heap] = {}  # those for which an agent or key is full
        self._taken = Counter[tuple[int, str]]()
        self.running = 0
        self.waiting = 0

    def add(self, run_id: str, group: Group) -> None:
        """Have a run wait for a place."""
        number = next(self._numbers)
        if group not in self._queues:
            self._queues[group] = OrderedDict()
            heappush(self._ready, (number, group))
        self._queues[group][run_id] = number
        self.waiting += 1

    def remove(self, run_id: str, group: Group) -> None:
        """Have a run wait no longer. Its group is set right when it is next."""
        del self._queues[group][run_id]
        self.waiting -= 1
        for part in enumerate(group):  # what has room for it has room for another group
            self._unpark(part)

    def take(self) -> tuple[str, Group] | None:
        """The next run that may go on, which has its place from now on; None when none may."""
        while self._has_next(self._ready) and self.running < self.limits.running:
            number, group = heappop(self._ready)
            full = self._full(group)
            if full is not None:
                heappush(self._parked.setdefault(full, []), (number, group))
                for part in enumerate(group):  # its other half has room, perhaps for another group
                    if part != full:
                        self._unpark(part)
                continue
            queue = self._queues[group]
            run_id, _ = queue.popitem(last=False)
            self.waiting -= 1
            if queue:
                heappush(self._ready, (_first(queue), group))
            else:
                del self._queues[group]
            self.hold(group)
            return run_id, group
        return None

    def has_room(self, group: Group) -> bool:
        """Whether a run of the group could go on at once, with nobody before it."""
        is_room = self.running < self.limits.running and self._full(group) is None
        return is_room and not self.waiting

    def hold(self, group: Group) -> None:
        """One more of the group goes on."""
        self.running += 1
        self._taken.update(enumerate(group))

    def release(self, group: Group) -> None:
        """One of the group goes on no longer."""
        self.running -= 1
        for part in enumerate(group):
            self._taken[part] -= 1
            if not self._taken[part]:
                del self._taken[part]
            self._unpark(part)

    def _unpark(self, part: tuple[int, str]) -> None:
        """Let the group that has waited longest for an agent, or a key, try again."""
        parked = self._parked.get(part)
        if parked is None or self._is_full(part):
            return
        if self._has_next(parked):
            heappush(self._ready, heappop(parked))
        if not parked:
            del self._parked[part]

    def _has_next(self, heap: _Heap) -> bool:
        """Whether somebody waits; the first of the groups is in its place then.

        A group out of which somebody has gone stands too far ahead, and never too far behind.
        """
        while heap:
            number, group = heap[0]
            queue = self._queues[group]
            if queue and _first(queue) == number:
                return True
            heappop(heap)
            if queue:
                heappush(heap, (_first(queue), group))
            else:
                del self._queues[group]
        return False

    def _full(self, group: Group) -> tuple[int, str] | None:
        """The agent, or else the key, that has no place left."""
        return next((part for part in enumerate(group) if self._is_full(part)), None)

    def _is_full(self, part: tuple[int, str]) -> bool:
        most = (self.limits.per_agent, self.limits.per_key)[part[0]]
        return most is not None and self._taken[part] >= most


def _first(queue: OrderedDict[str, int]) -> int:
    """The number of whoever has waited longest."""
    return next(iter(queue.values()))
