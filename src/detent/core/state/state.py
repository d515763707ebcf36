"""State: what an agent and its tools share. A value; writing to it gives another state.

`State` takes a schema as a dict and is read and written by string keys. Other ways to declare one,
as the classes of typed fields, stand on `BaseState` as well.
"""

# ruff: noqa: SLF001
# Functions here read a state's own attributes: each public one is a name that no key could have.

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Never, Self, TypeVar, cast

from detent.core.chat.messages import ChatMessage
from detent.core.errors import StateError
from detent.core.schema.type_checks import Check
from detent.core.state.dict_schema import entries_of, keys_of
from detent.core.state.dropped import warn_of_drop
from detent.core.state.fields import Appended
from detent.core.state.handlers import merge_lists, replace_values
from detent.core.state.keys import UNSET, Key, Write, unknown_key
from detent.core.values.frozen import FrozenDict
from detent.core.values.shared_list import SharedList, read
from detent.core.values.short_repr import MASK, short_repr

NONE_SECRET: frozenset[str] = frozenset()
B = TypeVar("B", bound="BaseState")


class BaseState:
    """The mechanism under both kinds of state: keys, and what they hold now.

    RULE: `update`, `_put` and `with_messages` are where a state comes out of a state: all writes
    pass them.
    """

    __slots__ = ("_keys", "_secret", "_values")
    _keys: Mapping[str, Key[Any, Any]]
    _values: dict[str, object]
    _secret: frozenset[str]

    messages = Appended[ChatMessage]()
    """The conversation so far, oldest first: a key that every state has."""

    def update(self, writes: Iterable[Write]) -> Self:
        """A new state with all `writes` merged in order, or, when one of them fails, none.

        Raises:
            StateError: a key is unknown, a handler raised, or a value has the wrong type.
        """
        state = self
        for write in writes:
            key = self._key(write.key) if write.source is None else self._own(write.source)
            state = state._put(key, write.held, write.handler)
        return state

    @property
    def fields(self) -> Mapping[str, Key[Any, Any]]:
        """The keys that the schema declares, by name."""
        return self._keys

    @property
    def schema(self) -> FrozenDict[str, FrozenDict[str, Any]]:
        """The schema as a dict, with every handler filled in."""
        return entries_of(self._keys)

    @property
    def data(self) -> FrozenDict[str, Any]:
        """A snapshot of everything that has been written, by key."""
        return FrozenDict({name: read(value) for name, value in self._values.items()})

    def read(self, name: str, default: object = None) -> Any:
        """What the key called `name` holds, or its default, or `default`.

        Raises:
            StateError: the schema has no such key.
        """
        value = self._values.get(name, UNSET)
        if value is UNSET:
            value = self._key(name).default
        return default if value is UNSET else read(value)

    def holds(self, name: str) -> bool:
        """Whether the key called `name` has a value: one that was written, or a default."""
        return name in self._values or self._key(name).default is not UNSET

    def to_dict(self) -> dict[str, Any]:
        """Everything that has been written, as plain JSON. The schema is not part of it.

        Raises:
            UnstorableError: a value cannot be stored; names the key and the place in it.
        """
        from detent.core.codec.json_text import encode
        from detent.core.state.stored import state_to_json

        return cast("dict[str, Any]", json.loads(encode(state_to_json(self))))

    def restored(self, stored: Mapping[str, Any]) -> Self:
        """A state with the schema of this one that holds what `to_dict` gave.

        Raises:
            StoredDataError: `stored` is no such dict, of another version, or does not fit.
            StateError: it has an unknown key, or a value of the wrong type.
        """
        from detent.core.state.stored import values_from_json

        types = {name: key.type for name, key in self._keys.items()}
        return self.update(initial_writes(values_from_json(stored, types)))

    def _begin(self, keys: Mapping[str, Key[Any, Any]], writes: Iterable[Write]) -> None:
        if hasattr(self, "_keys"):
            raise TypeError("a state cannot be changed, nor begun again")
        _set_keys(self, keys)
        _set_secret(self, NONE_SECRET)
        _set_values(self, {})
        _set_values(self, self.update(writes)._values)

    def _put(
        self, key: Key[Any, Any], value: object, handler: Callable[[Any, Any], Any] | None
    ) -> Self:
        """A new state in which `value` is merged into `key`, by `handler` if it is not None."""
        values = self._values.copy()
        if handler is None and type(value) is key.atom:  # not isinstance: a bool is no int here
            values[key.name] = value
        else:
            current = values.get(key.name, key.default)
            is_secret = key.name in self._secret
            values[key.name] = key.merge(current, value, handler, is_secret=is_secret)
        return self._with(values)

    def _with(self, values: dict[str, object]) -> Self:
        new = _new(type(self))
        _set_keys(new, self._keys)
        _set_secret(new, self._secret)
        _set_values(new, values)
        return new

    def _key(self, name: str) -> Key[Any, Any]:
        key = self._keys.get(name)
        if key is None:
            raise StateError(unknown_key(name, self._keys))
        return key

    def _own(self, key: Key[Any, Any]) -> Key[Any, Any]:
        """`key`, if it is one of this schema and not a namesake from another."""
        if not isinstance(key, Key):
            raise StateError(f"write {type(self).__name__}.{key}, a typed key, in place of {key!r}")
        if self._key(key.name) is not key:  # an equal key may have another handler: `eq=False`
            raise StateError(f"{key.name!r} is a key of another schema than {type(self).__name__}")
        return key

    def __setattr__(self, name: str, value: object) -> Never:
        raise AttributeError(f"a state cannot be changed; write state = state.set({name!r}, …)")

    def __delattr__(self, name: str) -> Never:
        raise AttributeError("a state cannot be changed")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __reduce__(self) -> Never:
        raise TypeError("a state is not pickled: store what to_dict() gives")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BaseState):
            return NotImplemented
        return self is other or (self._values == other._values and self._keys == other._keys)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        content = ", ".join(
            f"{name}={MASK if name in self._secret else short_repr(value)}"
            for name, value in self._values.items()
        )
        return f"{type(self).__name__}({content})"


_new = object.__new__
_set_keys: Callable[[BaseState, object], None] = vars(BaseState)["_keys"].__set__
_set_secret: Callable[[BaseState, object], None] = vars(BaseState)["_secret"].__set__
_set_values: Callable[[BaseState, object], None] = vars(BaseState)["_values"].__set__


class State(BaseState):
    """A state whose keys are strings, declared in a dict.

    Args:
        schema: for each key ``{"type": a type, "handler": a function, "default": a value}``, the
            last two optional. Lists merge by `merge_lists`, all else by `replace_values`, unless
            the entry has a handler. A key ``messages`` of type ``list[ChatMessage]`` is there by
            itself.
        data: initial values. They pass no handler.
        check: which items of a collection are looked at when a value is checked against its type.

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
        self,
        schema: Mapping[str, object],
        data: Mapping[str, object] | None = None,
        *,
        check: Check = "all",
    ) -> None:
        keys = keys_of(schema, check)
        if "messages" not in keys:
            keys = FrozenDict({**keys, "messages": BaseState.messages})
        self._begin(keys, initial_writes(data or {}))

    @classmethod
    def from_dict(
        cls,
        stored: Mapping[str, Any],
        schema: Mapping[str, object] | None = None,
        *,
        check: Check = "all",
    ) -> Self:
        """The state that `to_dict` stored. See `restored`.

        A schema with types or handlers of your own is given again; data cannot name them.
        """
        from detent.core.state.named_schema import schema_from_json

        entries = schema_from_json(stored) if schema is None else schema
        return cls(entries, check=check).restored(stored)

    def to_dict(self) -> dict[str, Any]:
        """As `BaseState.to_dict`, with the schema, as far as it can be named."""
        from detent.core.state.named_schema import schema_to_json

        keys = {name: key for name, key in self._keys.items() if key is not BaseState.messages}
        return {**super().to_dict(), "schema": schema_to_json(keys)}

    def get(self, key: str, default: Any = None) -> Any:
        """What `key` holds; without a value its default, or `default`, also where no key is so."""
        return self.read(key, default) if key in self._keys else default

    def has(self, key: str) -> bool:
        """Whether anything was written to `key`: nothing to one that the schema has not got."""
        return key in self._values

    def set(
        self, key: str, value: object, handler_override: Callable[[Any, Any], Any] | None = None
    ) -> Self:
        """A new state with `value` merged into `key`, by `handler_override` if one is given.

        Raises:
            StateError: the key is unknown, the handler raised, or a value has the wrong type.
        """
        new = self._put(self._keys.get(key) or self._key(key), value, handler_override)
        if new is not self:  # as that of a running tool is, which keeps what is written
            warn_of_drop(f"state.set({key!r}, …)")
        return new


def secret_keys(state: BaseState) -> frozenset[str]:
    """The keys of which nobody is told what they hold, or what they have refused."""
    return state._secret


def with_secret_keys(state: B, names: frozenset[str]) -> B:
    """The state, and all that come out of it, with these secret keys."""
    if state._secret == names:
        return state
    new = state._with(state._values)
    _set_secret(new, names)
    return new


def with_messages(state: B, messages: Sequence[ChatMessage]) -> B:
    """A state with `messages` at the end of its conversation.

    Raises:
        StateError: a handler of ``messages`` that is not the usual one raised.
    """
    before = state._values.get("messages")
    usual = state._keys["messages"].handler is merge_lists
    if not usual or type(before) is not SharedList:
        return state.update([Write("messages", messages)])
    values = state._values.copy()
    values["messages"] = before.followed_by(messages)
    return state._with(values)


def conversation_in(state: BaseState) -> Sequence[ChatMessage]:
    """The conversation as a state holds it, not copied: the machine looks at it in every turn."""
    messages: Any = state._values.get("messages", ())
    return messages  # type: ignore[no-any-return]  # to say it by `cast` is a call in every turn


def lists_in(state: BaseState) -> Mapping[str, SharedList[Any]]:
    """The lists that have been written to a state, by key, as it holds them."""
    return {name: value for name, value in state._values.items() if type(value) is SharedList}


def initial_writes(data: Mapping[str, object]) -> list[Write]:
    """Initial values, by key, as writes: they take the place of defaults and pass no handler."""
    return [Write(name, value, replace_values) for name, value in data.items()]
