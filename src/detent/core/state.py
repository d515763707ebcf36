"""State: what an agent and its tools share. A value; writing to it gives another state.

Two front doors, one mechanism. `State` takes a schema as a dict and is read and written by string
keys. `TypedState` is subclassed: its fields are typed keys, and a type checker sees every mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Generic, Never, Self, TypeVar, cast, get_args, get_origin, overload

from detent.core.errors import SchemaError, StateError
from detent.core.frozen import FrozenDict, Log
from detent.core.handlers import Handler, merge_lists, replace_values
from detent.core.keys import UNSET, Key, Write, key_of, stored
from detent.core.messages import ChatMessage

T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")
Item = TypeVar("Item")

MESSAGES: Key[Sequence[ChatMessage], Sequence[ChatMessage]] = Key(
    "messages", list[ChatMessage], merge_lists, Log()
)
"""The conversation: a key that every state has."""


class BaseState:
    """The mechanism under both kinds of state: keys, and what they hold now."""

    __slots__ = ("_keys", "_values")
    _keys: Mapping[str, Key[Any, Any]]
    _values: Mapping[str, object]

    def update(self, writes: Iterable[Write]) -> Self:
        """A new state with all `writes` merged in order, or, when one of them fails, none.

        Raises:
            StateError: a key is unknown, a handler raised, or a value has the wrong type.
        """
        values = dict(self._values)
        for write in writes:
            key = self._key(write.key)
            values[key.name] = key.merge(values.get(key.name, key.default), write)
        return self._with(values)

    @property
    def messages(self) -> Sequence[ChatMessage]:
        """The conversation so far, oldest first."""
        return cast(Sequence[ChatMessage], self._values["messages"])

    @property
    def fields(self) -> Mapping[str, Key[Any, Any]]:
        """The keys that the schema declares, by name."""
        return self._keys

    @property
    def data(self) -> FrozenDict[str, object]:
        """A snapshot of everything that has been set, by key."""
        return FrozenDict(self._values)

    def read(self, name: str, default: object = None) -> object:
        """What the key called `name` holds, or its default, or `default`."""
        key = self._key(name)
        value = self._values.get(name, key.default)
        return default if value is UNSET else value

    def holds(self, name: str) -> bool:
        """Whether the key called `name` has a value: one that was written, or a default."""
        return name in self._values or self._key(name).default is not UNSET

    def _with(self, values: dict[str, object]) -> Self:
        new = object.__new__(type(self))
        object.__setattr__(new, "_keys", self._keys)
        object.__setattr__(new, "_values", values)
        return new

    def _key(self, name: str) -> Key[Any, Any]:
        key = self._keys.get(name)
        if key is None:
            raise StateError(unknown_key(name, self._keys))
        return key

    def __setattr__(self, name: str, value: object) -> Never:
        raise AttributeError(f"a state cannot be changed; write state = state.set({name!r}, …)")

    def __delattr__(self, name: str) -> Never:
        raise AttributeError("a state cannot be changed")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BaseState):
            return NotImplemented
        return self._keys == other._keys and self._values == other._values

    def __hash__(self) -> int:
        return hash(tuple(self._values.items()))

    def __repr__(self) -> str:
        held = ", ".join(f"{name}={value!r}" for name, value in self._values.items())
        return f"{type(self).__name__}({held})"


class State(BaseState):
    """A state whose keys are strings, declared in a dict.

    Args:
        schema: for each key ``{"type": a type, "handler": a function or None}``. Lists merge by
            `merge_lists`, all else by `replace_values`, unless the entry names a handler. A key
            ``messages`` of type ``list[ChatMessage]`` is there by itself.
        data: initial values.

    Raises:
        SchemaError: an entry of the schema is not one.
        StateError: `data` has an unknown key or a value of the wrong type.

    >>> state = State(schema={"documents": {"type": list}})
    >>> state = state.set("documents", [1, 2])
    >>> state.set("documents", [3]).get("documents")
    [1, 2, 3]
    """

    __slots__ = ()

    def __init__(
        self, schema: Mapping[str, object], data: Mapping[str, object] | None = None
    ) -> None:
        keys = {name: key_of(name, entry) for name, entry in schema.items()}
        if "messages" not in keys:
            keys["messages"] = MESSAGES
        elif not _holds_messages(keys["messages"].type):
            raise SchemaError("'messages' must be a list[ChatMessage], or be left out")
        object.__setattr__(self, "_keys", MappingProxyType(keys))
        object.__setattr__(self, "_values", {"messages": Log()})
        started = self.update(initial_writes(data or {}))
        object.__setattr__(self, "_values", started._values)  # noqa: SLF001 - of this class

    @property
    def schema(self) -> FrozenDict[str, FrozenDict[str, object]]:
        """The schema, with every handler filled in."""
        return FrozenDict(
            {
                name: FrozenDict({"type": key.type, "handler": key.handler})
                for name, key in self._keys.items()
            }
        )

    def get(self, key: str, default: Any = None) -> Any:
        """What `key` holds, or `default` when it has not been set.

        Raises:
            StateError: the schema has no such key.
        """
        return self.read(key, default)

    def has(self, key: str) -> bool:
        """Whether `key` has been set."""
        return key in self._values

    def set(
        self,
        key: str,
        value: object,
        handler_override: Callable[[Any, Any], Any] | None = None,
    ) -> Self:
        """A new state with `value` merged into `key`, by `handler_override` if one is given.

        Raises:
            StateError: the key is unknown, the handler raised, or a value has the wrong type.
        """
        return self.update([Write(key, value, handler_override)])


class Field(Generic[T, U]):
    """Declares a key in the body of a `TypedState`.

    On the class it is the `Key`, on a state it is the key's value.
    """

    key: Key[T, U]

    def __init__(self, declared: object, default: T, handler: Handler[T, U]) -> None:
        self._declared, self._default, self._handler = declared, default, handler

    def __set_name__(self, owner: type, name: str) -> None:
        self.key = Key(name, self._declared, self._handler, stored(self._default))

    @overload
    def __get__(self, state: None, owner: type) -> Key[T, U]: ...
    @overload
    def __get__(self, state: BaseState, owner: type) -> T: ...
    def __get__(self, state: BaseState | None, owner: type) -> Key[T, U] | T:
        return self.key if state is None else cast(T, state.read(self.key.name))

    def __set__(self, state: BaseState, value: Never) -> None:
        state.__setattr__(self.key.name, value)


class TypedState(BaseState):
    """A state whose keys are the fields of a class.

    >>> class Research(TypedState):
    ...     user_name = replaced(str, "")
    ...     queries = appended(str)
    >>> state = Research().set(Research.queries, ["detents"])
    >>> state.queries, state.user_name
    (['detents'], '')
    """

    __slots__ = ()
    _declared: Mapping[str, Key[Any, Any]] = MappingProxyType({"messages": MESSAGES})

    def __init_subclass__(cls) -> None:
        own = {name: item.key for name, item in vars(cls).items() if isinstance(item, Field)}
        cls._declared = MappingProxyType({**cls._declared, **own})

    def __init__(self, *writes: Write) -> None:
        object.__setattr__(self, "_keys", self._declared)
        object.__setattr__(self, "_values", {"messages": Log()})
        begun = self.update(writes)
        object.__setattr__(self, "_values", begun._values)  # noqa: SLF001 - of this class

    @overload
    def set(self, key: Key[T, U], value: U) -> Self: ...
    @overload
    def set(self, key: Key[T, Any], value: V, handler_override: Handler[T, V]) -> Self: ...
    def set(
        self,
        key: Key[Any, Any],
        value: object,
        handler_override: Callable[[Any, Any], Any] | None = None,
    ) -> Self:
        """A new state with `value` merged into `key`, by `handler_override` if one is given.

        Raises:
            StateError: the key belongs to another schema, the handler raised, or a value has the
                wrong type.
        """
        if self._keys.get(key.name) != key:
            raise StateError(unknown_key(key.name, self._keys))
        return self.update([Write(key.name, value, handler_override)])


def replaced(declared: type[T], default: T) -> Field[T, T]:
    """A key whose update takes the place of the current value."""
    return Field(declared, default, replace_values)


def appended(item: type[Item]) -> Field[Sequence[Item], list[Item] | tuple[Item, ...]]:
    """A key that grows: each update is a list of further items."""
    return Field(list[item], [], merge_lists)  # type: ignore[valid-type]  # made at run time


def unknown_key(name: object, keys: Iterable[str]) -> str:
    """The sentence that says that `name` is no key, and which one may have been meant."""
    known = sorted(keys)
    close = get_close_matches(str(name), known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"{name!r} is not a key of this state, which has {', '.join(map(repr, known))}{hint}"


def initial_writes(data: Mapping[str, object]) -> list[Write]:
    """Initial values, by key, as writes: they take the place of defaults and pass no handler."""
    return [Write(name, value, replace_values) for name, value in data.items()]


def _holds_messages(declared: object) -> bool:
    item = next(iter(get_args(declared)), None)
    held = isinstance(item, type) and issubclass(item, ChatMessage)
    return get_origin(declared) is list and held
