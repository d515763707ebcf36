"""What differs between two states, key by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from attrs import frozen

from detent.core.state.keys import UNSET
from detent.core.state.state import BaseState
from detent.core.values.short_repr import short_repr


@frozen
class Change:
    """One key whose value differs. `before` or `after` is `UNSET` where the key has no value.

    As a text it says how: what was added to a list or set, which entries of a dict changed.
    """

    key: str
    before: Any
    after: Any

    @property
    def added(self) -> Sequence[Any] | None:
        """The items by which a list has grown; None if the change is of another kind."""
        if not isinstance(self.before, list) or not isinstance(self.after, list):
            return None
        before: list[Any] = self.before
        after: list[Any] = self.after
        grew = len(before) < len(after) and after[: len(before)] == before
        return after[len(before) :] if grew else None

    def __str__(self) -> str:
        return f"{self.key}: {', '.join(self._ways())}"

    def _ways(self) -> Iterator[str]:
        before, after = self.before, self.after
        if before is UNSET:
            yield f"set to {short_repr(after)}"
        elif after is UNSET:
            yield f"unset, was {short_repr(before)}"
        elif self.added is not None:
            yield f"{len(self.added)} added: {short_repr(self.added)}"
        elif isinstance(before, dict) and isinstance(after, dict):
            yield from _entries(self.before, self.after)
        elif isinstance(before, set) and isinstance(after, set):
            yield from _items(self.before, self.after)
        else:
            yield f"{short_repr(before)} -> {short_repr(after)}"


def diff(before: BaseState, after: BaseState) -> tuple[Change, ...]:
    """The keys whose values differ, in the order of the schema, and how.

    >>> from detent.core.state.state import State
    >>> before = State({"queries": {"type": list}, "user": {"type": str}}, {"queries": ["a"]})
    >>> after = before.set("queries", ["b"]).set("user", "Alice")
    >>> for change in diff(before, after):
    ...     print(change)
    queries: 1 added: ['b']
    user: set to 'Alice'
    """
    names = [*before.fields, *(name for name in after.fields if name not in before.fields)]
    changes = (Change(name, _value(before, name), _value(after, name)) for name in names)
    return tuple(change for change in changes if change.before != change.after)


def _value(state: BaseState, name: str) -> Any:
    return state.read(name, UNSET) if name in state.fields else UNSET


def _entries(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> Iterator[str]:
    for key, item in after.items():
        if key not in before:
            yield f"{key!r} added: {short_repr(item)}"
        elif before[key] != item:
            yield f"{key!r}: {short_repr(before[key])} -> {short_repr(item)}"
    yield from (f"{key!r} removed" for key in before if key not in after)


def _items(before: AbstractSet[Any], after: AbstractSet[Any]) -> Iterator[str]:
    for some, what in ((after - before, "added"), (before - after, "removed")):
        if some:
            yield f"{len(some)} {what}: {short_repr(some)}"
