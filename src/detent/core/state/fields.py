"""Fields: how the keys of a `TypedState` are declared in its body.

Brackets say types, parentheses say values: ``queries = Appended[str]()``, ``limit = Replaced(10)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import (
    Any,
    ClassVar,
    Generic,
    Never,
    Protocol,
    TypeVar,
    cast,
    get_args,
    get_origin,
    overload,
)

from detent.core.errors import SchemaError, StateError
from detent.core.schema.type_checks import Check, type_name
from detent.core.state.dict_schema import declared_key
from detent.core.state.handlers import (
    Addable,
    Handler,
    ListHandler,
    Ordered,
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
from detent.core.state.keys import UNSET, Key
from detent.core.values.frozen import FrozenDict

T = TypeVar("T")
U = TypeVar("U")
Item = TypeVar("Item")
K = TypeVar("K")
V = TypeVar("V")

NO_DEFAULT: Any = UNSET


class ReadableState(Protocol):
    """What a field asks of the state that it is read from."""

    def read(self, name: str, default: object = ..., /) -> object:
        """What the state holds under a name, or the default."""
        ...


class Field(Generic[T, U]):
    """A key that is read as ``T`` and written as ``U``: ``Field[T, U](default, handler)``.

    On the class it is the `Key`, on a state it is what the key holds. Values are checked against
    ``T`` at run time too; where the brackets are left out, against the type of the default.

    Args:
        default: what the key holds before anything is written. It is frozen, so it may be a list.
        handler: merges what the key holds with an update into what it holds next.
    """

    container: ClassVar[Any] = None
    check: Check = "all"
    _name = ""

    def __init__(self, default: T, handler: Handler[T, U]) -> None:
        self._default, self._handler = default, handler

    def __set_name__(self, owner: type, name: str) -> None:
        if self._name:
            raise SchemaError(f"a field cannot be both {self._name!r} and {name!r}; declare two")
        self._name = name

    @cached_property
    def key(self) -> Key[T, U]:
        """The key that the field declares. Raises SchemaError if its parts do not fit together."""
        return declared_key(
            self._name, self._declared(), self._handler, self._default, check=self.check
        )

    def _declared(self) -> object:
        """The type of the values: what stands in the brackets, else the type of the default."""
        arguments = get_args(getattr(self, "__orig_class__", None))
        kind = type(self).__name__
        if self.container is not None:
            if not arguments:
                raise SchemaError(f"{self._name!r}: say of what, e.g. {kind}[str]()")
            return self.container[arguments]
        if not arguments and (self._default is None or self._default is UNSET):
            raise SchemaError(f"{self._name!r}: say the type, e.g. {kind}[str | None](None)")
        return arguments[0] if arguments else type(self._default)

    @overload
    def __get__(self, state: None, owner: type) -> Key[T, U]: ...
    @overload
    def __get__(self, state: ReadableState, owner: type) -> T: ...
    def __get__(self, state: ReadableState | None, owner: type) -> Key[T, U] | T:
        if state is None:
            return self.key
        value: Any = state.read(self._name, UNSET)
        if value is UNSET:
            raise StateError(
                f"state key {self._name!r} has no default and was not written yet; ask "
                "state.has(…) first, or read it with state.get(…)"
            )
        return value  # type: ignore[no-any-return]  # as declared; a cast would be a call

    def __set__(self, state: ReadableState, value: Never) -> None:
        state.__setattr__(self._name, value)


class Replaced(Field[T, T]):
    """A key whose update takes the place of what it holds. Without a default it begins unset."""

    def __init__(self, default: T = NO_DEFAULT) -> None:
        super().__init__(default, replace_values)


class Appended(Field[Sequence[Item], list[Item] | tuple[Item, ...]]):
    """A list that grows by every update, at a cost that does not grow with it."""

    container = list

    def __init__(self, default: Sequence[Item] = ()) -> None:
        super().__init__(list(default), cast("ListHandler[Item]", merge_lists))


class Unique(Field[Sequence[Item], list[Item] | tuple[Item, ...]]):
    """A list that grows by the items that it has not got; with `key`, by those with a new key."""

    container = list

    def __init__(self, key: Callable[[Item], object] | None = None) -> None:
        super().__init__([], append_unique if key is None else append_unique_by(key))


class LastN(Field[Sequence[Item], list[Item] | tuple[Item, ...]]):
    """A list that keeps its last `count` items."""

    container = list

    def __init__(self, count: int) -> None:
        super().__init__([], keep_last(count))


class Merged(Field[Mapping[K, V], Mapping[K, V]]):
    """A dict that every update adds entries to, or replaces some of."""

    container = dict

    def __init__(self, default: Mapping[K, V] | None = None) -> None:
        super().__init__(default or {}, merge_dicts)


class SetUnion(Field[AbstractSet[Item], AbstractSet[Item] | list[Item] | tuple[Item, ...]]):
    """A set that every update adds items to."""

    container = set

    def __init__(self, default: AbstractSet[Item] = frozenset()) -> None:
        super().__init__(set(default), unite_sets)


class Counter(Field[Addable, Addable]):
    """A counter: every update is added to it."""

    def __init__(self, default: Addable) -> None:
        super().__init__(default, add_numbers)


class Maximum(Field[Ordered, Ordered]):
    """The greatest of all updates."""

    def __init__(self, default: Ordered = NO_DEFAULT) -> None:
        super().__init__(default, keep_max)


class Minimum(Field[Ordered, Ordered]):
    """The least of all updates."""

    def __init__(self, default: Ordered = NO_DEFAULT) -> None:
        super().__init__(default, keep_min)


def field_of(key: Key[T, U]) -> Field[T, U]:
    """A field that declares `key`."""
    field: Field[T, U] = Field.__new__(Field)
    vars(field)["key"] = key
    return field


def keys_in(schema: type, *, taken: Iterable[str], check: Check) -> FrozenDict[str, Key[Any, Any]]:
    """The keys that a class declares in its body, and those of the classes that it inherits from.

    Raises:
        SchemaError: a field's parts do not fit, its name is `taken`, or two keys have one name.
    """
    for name, item in _fields_of(schema):
        item.check = check
        if name in taken or name.startswith("_") or not name.isidentifier():
            raise SchemaError(
                f"{schema.__name__}: {name!r} cannot name a key, a state uses such names itself"
            )
    _refuse_undeclared(schema)
    homes: dict[str, type] = {}
    keys: dict[str, Key[Any, Any]] = {}
    for home in reversed(schema.__mro__):
        if hidden := sorted(vars(home).keys() & keys.keys()):
            name = hidden[0]
            raise SchemaError(
                f"{schema.__name__}: {name!r} is declared by {homes[name].__name__} and again by "
                f"{home.__name__}; rename one of them"
            )
        for name, item in _fields_of(home):
            keys[name], homes[name] = item.key, home
    return FrozenDict(keys)


def _fields_of(schema: type) -> list[tuple[str, Field[Any, Any]]]:
    return [(name, item) for name, item in vars(schema).items() if isinstance(item, Field)]


def _refuse_undeclared(schema: type) -> None:
    """A name that is only annotated looks like a key and is none, and so does a kind of key."""
    fields = dict(_fields_of(schema))
    for name, item in vars(schema).items():
        kind = get_origin(item) or item
        if isinstance(kind, type) and issubclass(kind, Field):
            types = ", ".join(map(type_name, get_args(item))) or "…"
            raise SchemaError(
                f"{schema.__name__}.{name} lacks its parentheses, and is no key without them; "
                f"write {name} = {kind.__name__}[{types}]()"
            )
    try:
        annotated = schema.__annotations__
    except NameError:  # Python 3.14 looks the names up now, and one is for type checkers only
        return
    for name, declared in annotated.items():
        text = declared if isinstance(declared, str) else type_name(declared)
        if name not in fields and "ClassVar" not in text:
            raise SchemaError(
                f"{schema.__name__}.{name} is annotated, which does not make it a key; write e.g. "
                f"{name} = Replaced[{text}](…)"
            )
