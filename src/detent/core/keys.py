"""Keys: the entries of a state, each with its type, its default and its handler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import UnionType
from typing import Annotated, Any, Generic, TypeVar, Union, cast, get_args, get_origin

from attrs import field, frozen

from detent.core.errors import SchemaError, StateError, StateTypeError
from detent.core.frozen import Log, freeze
from detent.core.handlers import Handler, merge_lists, replace_values

T = TypeVar("T")
U = TypeVar("U")


class _Unset:
    """The default of a key that has none."""

    def __repr__(self) -> str:
        return "unset"


UNSET = _Unset()


@frozen
class Write:
    """An update of one key that has been decided but not yet applied.

    `handler` merges this one update in place of the key's own handler.
    """

    key: str
    value: object
    handler: Callable[[Any, Any], Any] | None = None


@frozen
class Key(Generic[T, U]):
    """Names one entry of a state that is read as ``T`` and updated with ``U``."""

    name: str
    type: object
    handler: Handler[T, U] = field(eq=False)
    default: object = UNSET

    def put(self, value: U) -> Write:
        """Describe an update without performing it."""
        return Write(self.name, value)

    def merge(self, current: object, write: Write) -> object:
        """What the key holds after `write`, checked against the declared type and frozen.

        Raises:
            StateTypeError: the update, or what the handler made of it, has another type.
            StateError: the handler raised; its exception is the cause.
        """
        handler: Any = write.handler or self.handler
        update = freeze(write.value)
        current = None if current is UNSET else current
        if handler is merge_lists:
            added = merge_lists(None, cast("Any", update))
            check(self.name, added, self.type)
            return merge_lists(cast("Any", current), added)
        try:
            merged = handler(current, update)
        except Exception as error:
            raise StateError(
                f"the handler {_name(handler)} of state key {self.name!r} raised "
                f"{type(error).__name__}: {error}"
            ) from error
        check(self.name, merged, self.type)
        return stored(merged)


def stored(value: object) -> object:
    """`value` as a state holds it: frozen, a list as a `Log`."""
    if type(value) is list:
        return Log([freeze(item) for item in value])
    return freeze(value)


def key_of(name: str, entry: object) -> Key[Any, Any]:
    """The key that an entry ``{"type": …, "handler": …}`` of a dict schema declares."""
    if not isinstance(entry, Mapping) or "type" not in entry:
        raise SchemaError(f"state key {name!r} needs a 'type' entry, e.g. {{'type': str}}")
    if unknown := entry.keys() - {"type", "handler"}:
        raise SchemaError(f"state key {name!r} has unknown entries {sorted(map(str, unknown))}")
    declared, handler = entry["type"], entry.get("handler")
    if not is_type(declared):
        raise SchemaError(f"the 'type' of state key {name!r} must be a type, got {declared!r}")
    if handler is None:
        handler = merge_lists if is_list(declared) else replace_values
    if not callable(handler):
        raise SchemaError(f"the 'handler' of state key {name!r} must be callable, got {handler!r}")
    return Key(name, declared, handler)


def is_type(declared: object) -> bool:
    """Whether `declared` can stand as the type of a value."""
    return isinstance(declared, type) or declared is Any or get_origin(declared) is not None


def is_list(declared: object) -> bool:
    """Whether `declared` is a list type: list, list[X], or an optional or annotated one."""
    origin = get_origin(declared)
    if origin is Annotated:
        return is_list(get_args(declared)[0])
    if origin is Union or origin is UnionType:
        some = [arg for arg in get_args(declared) if arg is not type(None)]
        return len(some) == 1 and is_list(some[0])
    return declared is list or origin is list


def check(name: str, value: object, declared: Any) -> None:
    """Raise StateTypeError unless `value` has the type that key `name` declares."""
    if declared is Any or (isinstance(declared, type) and type(value) is declared):
        return
    # typeguard costs 20 ms to import, and plain types rarely need it
    from typeguard import CollectionCheckStrategy, TypeCheckError, check_type

    try:
        check_type(value, declared, collection_check_strategy=CollectionCheckStrategy.ALL_ITEMS)
    except TypeCheckError as error:
        raise StateTypeError(
            f"state key {name!r} holds {type_name(declared)}, got {type_name(type(value))}: {error}"
        ) from None


def type_name(declared: object) -> str:
    """A type as people write it: ``int``, ``list[Document]``."""
    if isinstance(declared, type) and get_origin(declared) is None:
        return "list" if declared is Log else declared.__name__
    return str(declared).replace("typing.", "")


def _name(handler: object) -> str:
    return getattr(handler, "__qualname__", None) or repr(handler)
