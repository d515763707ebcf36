"""Keys: the entries of a state, each with its type, its default and the handler of its updates."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, Generic, ParamSpec, Protocol, TypeAlias, TypeVar

from attrs import evolve, field, frozen

from detent.core.errors import StateError, StateTypeError, require_failure
from detent.core.schema.type_checks import (
    LISTS,
    Check,
    classes_of,
    is_joined,
    is_list,
    item_classes_of,
    misfit,
    type_name,
)
from detent.core.state.handlers import (
    Handler,
    join_frozen,
    merge_dicts,
    merge_lists,
    replace_values,
    unite_sets,
)
from detent.core.values.copies import protect, read_copy
from detent.core.values.frozen import ATOMS, FrozenDict, FrozenList, FrozenSet
from detent.core.values.shared_list import SharedList, bare, read
from detent.core.values.short_repr import MASK, short_repr

P = ParamSpec("P")
T = TypeVar("T")
U = TypeVar("U")


class Unset:
    """The type of `UNSET`."""

    def __repr__(self) -> str:
        return "unset"


UNSET = Unset()
"""What stands where there is no value: no default, nothing written."""


def hold(name: str, value: object) -> object:
    """The value of the key called `name` as a state keeps it: a list as a `SharedList`.

    Raises:
        StateTypeError: the value can be changed and cannot be copied, or contains itself.
    """
    try:
        if type(value) is list or type(value) is FrozenList:
            items: Any = value
            return SharedList(items)
        return value if type(value) is SharedList else protect(value)
    except StateTypeError as error:
        raise StateTypeError(f"state key {name!r}: {error}") from error


Class: TypeAlias = type[Any]
Classes: TypeAlias = frozenset[type]


@frozen(repr=False)
class Write:
    """An update of one key that has been decided but not yet applied: ``Write(key, value)``.

    `handler` merges this one update in place of the key's own handler. `source` is the typed key
    that made the write, if one did: to apply it to a state of another schema is an error. One that
    `is_secret` does not print its value.

    Raises:
        StateTypeError: no state can hold the value.
    """

    key: str
    held: object = field(alias="value")
    handler: Callable[[Any, Any], Any] | None = None
    source: Key[Any, Any] | None = field(default=None, eq=False)
    is_secret: bool = field(default=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        # here, not when it is merged: what the writer changes afterwards is not what he wrote
        object.__setattr__(self, "held", hold(self.key, self.held))

    @property
    def value(self) -> Any:
        """The update; if it can be changed, a copy of it."""
        return read(self.held)

    def __repr__(self) -> str:
        by = f", {name_of(self.handler)}" if self.handler else ""
        value = MASK if self.is_secret else short_repr(self.held)
        return f"Write({self.key!r}, {value}{by})"


class TypedKey(Protocol[P]):
    """A key, by what it lets be put: what a method takes that passes its arguments on to `put`."""

    def put(self, *args: P.args, **kwargs: P.kwargs) -> Write:
        """An update that is not performed yet."""
        ...


@frozen
class Key(Generic[T, U]):
    """Names one entry of a state that is read as ``T`` and updated with ``U``.

    `default` is as a state keeps it, see `hold`; `UNSET` when there is none. `check` says which
    items of a collection are looked at when a value is checked against `type`.
    """

    name: str
    type: Any
    handler: Handler[T, U] = field(eq=False)
    default: object = UNSET
    check: Check = "all"

    @cached_property
    def type_name(self) -> str:
        """The type as people write it."""
        return type_name(self.type)

    @cached_property
    def atom(self) -> Class | None:
        """The class whose instances can be written without a look, for speed; None without one."""
        plain = isinstance(self.type, type) and self.type in ATOMS
        return self.type if plain and self.handler is replace_values else None

    @cached_property
    def _classes(self) -> Classes:
        return classes_of(self.type)

    @cached_property
    def _item_classes(self) -> Classes:
        return item_classes_of(self.type)

    @cached_property
    def _is_list(self) -> bool:
        return is_list(self.type)

    @cached_property
    def _joins(self) -> bool:
        return is_joined(self.type)

    def with_default(self, value: object) -> Key[T, U]:
        """The same key with a default. Raises StateTypeError if `value` has another type."""
        return evolve(self, default=self.merge(UNSET, value, replace_values))

    def put(self, value: U, handler_override: Handler[T, U] | None = None) -> Write:
        """Describe an update without performing it.

        Raises:
            StateTypeError: no state can hold the value.
        """
        return Write(self.name, value, handler_override, source=self)

    def merge(
        self,
        current: object,
        update: object,
        handler: Callable[[Any, Any], Any] | None = None,
        *,
        is_secret: bool = False,
    ) -> object:
        """What the key holds after `update`; `current` and the result are as a state keeps them.

        Where it `is_secret`, an error tells of a value its type alone.

        Raises:
            StateTypeError: the update, or what the handler made of it, has another type, or no
                state can hold it.
            StateError: the handler raised; its exception is the cause.
        """
        own: Any = self.handler
        handle = handler or own
        if handle is replace_values:
            self._require(update, is_secret=is_secret)
            return hold(self.name, update)
        items = hold(self.name, update)
        are_lists = type(current) is SharedList and type(items) is SharedList
        if are_lists and handle is merge_lists and self._is_list:
            self._require(items, is_secret=is_secret)  # as usual: all that is new comes from it
            return current + items  # type: ignore[operator]  # both are lists
        try:
            look = read_copy if _is_shipped(handle) else read  # ours take lists as they are shared
            if self._joins and (handle is merge_dicts or handle is unite_sets):
                whole = self._joined(current, handle(None, look(items)))
                if whole is not None:
                    return whole
            result = handle(None if current is UNSET else look(current), look(items))
        except BaseException as error:
            require_failure(error)
            said = type(error).__name__ + ("" if is_secret else f": {error}")
            raise StateError(
                f"the handler {name_of(handle)} of state key {self.name!r} raised {said}"
            ) from error
        if self._is_list and type(result) is SharedList and type(current) is SharedList:
            self._require(result.beyond(current), handle, is_secret=is_secret)
        else:
            self._require(result, handle, is_secret=is_secret)
        return hold(self.name, result)

    def _joined(self, current: Any, new: object) -> object | None:
        """What the key holds with what is new, which alone is looked at.

        None where the whole must be: there is nothing yet, something does not fit or can change.
        """
        if type(current) is not FrozenDict and type(current) is not FrozenSet:
            return None
        held: Any = protect(new)
        if type(held) is not type(current) or self._misfit(held) is not None:
            return None
        return join_frozen(current, held)

    def _require(self, value: object, handler: object = None, *, is_secret: bool) -> None:
        """Raise StateTypeError unless `value`, which `handler` gave, has the key's type."""
        if (problem := self._misfit(value)) is not None:
            if is_secret:  # what stands where in it is a part of it as well
                problem = f"got {type_name(type(bare(value)))}, which is not shown: it is secret"
            by = "" if _is_shipped(handler) else f" and {name_of(handler)} must return that"
            comma = "," if problem.startswith("got") else ";"
            holds = f"state key {self.name!r} holds {self.type_name}"
            raise StateTypeError(f"{holds}{by}{comma} {problem}", is_hidden=is_secret)

    def _misfit(self, value: object) -> str | None:
        """What keeps `value` from having the key's type; None when it has it."""
        if self.type is Any:
            return None
        fitting = self._item_classes
        if fitting and type(value) is SharedList and fitting.issuperset(map(type, value.held())):
            return None  # without a copy: the usual case
        content = bare(value)
        if type(content) in self._classes:
            return None
        if fitting and type(content) in LISTS and fitting.issuperset(map(type, content)):
            return None
        return misfit(content, self.type, self.check)


def _is_shipped(handler: object) -> bool:
    """Whether a handler is none of the user's, so that what it gave is what it was given."""
    return handler is None or getattr(handler, "__module__", "") == replace_values.__module__


def name_of(handler: object) -> str:
    """What a handler is called in a sentence."""
    return getattr(handler, "__name__", None) or repr(handler)


def unknown_key(name: object, keys: Iterable[str]) -> str:
    """The sentence that says that `name` is no key, and which one may have been meant."""
    from difflib import get_close_matches  # only for a mistake

    names = sorted(keys)
    close = get_close_matches(str(name), names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"{name!r} is not a key of this state, which has {', '.join(map(repr, names))}{hint}"
