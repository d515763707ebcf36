"""The live state: what a tool gets for a parameter that is annotated with a state class.

It is an instance of that class. Reading it gives what the run's state held when the call began, and
what the tool has written since. What it writes is folded into the run's state once the tool has
succeeded, in the order of the calls; when the tool fails, none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, TypeAlias, cast

from detent.core.errors import StateError
from detent.core.state.keys import Key, Write
from detent.core.state.state import BaseState, State, secret_keys

Merge: TypeAlias = Callable[[Any, Any], Any]


class PendingWrites:
    """What one call has written, on top of the state that it began with.

    Threads of one tool may share it without a lock: `_writes` only grows, and `_seen` is always the
    state after some number of these writes.
    """

    def __init__(self, start: BaseState) -> None:
        self._writes: list[Write] = []
        self._seen = (0, start)
        self._is_open = True

    def latest(self) -> BaseState:
        """The state after all writes. Raises StateError when the call has ended."""
        return self._current()[1]

    def add(self, writes: Iterable[Write]) -> None:
        """Merge all `writes`, or none and raise StateError when one of them does not fit."""
        fresh = tuple(writes)
        count, state = self._current()
        after = state.update(fresh)
        self._writes.extend(fresh)  # only after all of them could be merged: all or none
        if len(self._writes) == count + len(fresh):  # or another thread has written meanwhile
            self._seen = (count + len(fresh), after)  # and by now another one may have
        self._require_open()

    def end(self) -> tuple[Write, ...]:
        """All writes, in order. From now on the state can no longer be used."""
        self._is_open = False
        return tuple(self._writes)

    def shown(self) -> str:
        """The state after all writes, in words: these it has when the call has ended as well."""
        return repr(self._folded()[1])

    def _current(self) -> tuple[int, BaseState]:
        self._require_open()
        return self._folded()

    def _folded(self) -> tuple[int, BaseState]:
        count, state = self._seen
        if fresh := self._writes[count:]:  # two threads may fold the same ones: to equal states
            self._seen = count, state = count + len(fresh), state.update(fresh)
        return count, state

    def _require_open(self) -> None:
        if not self._is_open:
            raise StateError(
                "the tool call that this state was given to has ended: it is used too late"
            )


def live_state(pending: PendingWrites, kind: type[BaseState]) -> BaseState:
    """A state of class `kind` that reads and writes through `pending`.

    Raises:
        StateError: the run's state is of another class, and `kind` is not `State`, which fits any.
    """
    run_kind = type(pending.latest())
    if kind is not State and not issubclass(run_kind, kind):
        raise StateError(f"the tool wants a {kind.__name__}, and the run has a {run_kind.__name__}")
    live = object.__new__(_live(State if kind is State else run_kind))  # type: ignore[arg-type]  # classes are hashable, whatever their instances are
    object.__setattr__(live, "_pending", pending)
    return live


@cache
def _live(kind: type[BaseState]) -> type[BaseState]:
    """The subclass of `kind` whose values are those of its pending writes."""

    def update(self: Any, writes: Iterable[Write]) -> Any:
        self._pending.add(writes)
        return self

    def put(self: Any, key: Key[Any, Any], value: object, handler: Merge | None) -> Any:
        return self.update([Write(key.name, value, handler)])

    body = {
        "__slots__": ("_pending",),
        "__doc__": kind.__doc__,
        "_keys": property(lambda self: self._pending.latest().fields),
        "_secret": property(lambda self: secret_keys(self._pending.latest())),
        "_values": property(lambda self: self._pending.latest()._values),  # noqa: SLF001  # of its own kind
        "_put": put,
        "__repr__": lambda self: self._pending.shown(),
        "update": update,
    }
    return cast(type[BaseState], type(kind.__name__, (kind,), body))
