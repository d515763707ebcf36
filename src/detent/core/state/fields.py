"""Fields: keys as attributes of a state's class, from which they are read."""

from __future__ import annotations

from collections.abc import Sequence
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
    overload,
)

from detent.core.errors import SchemaError, StateError
from detent.core.schema.type_checks import Check
from detent.core.state.dict_schema import declared_key
from detent.core.state.handlers import Handler, ListHandler, merge_lists
from detent.core.state.keys import UNSET, Key

T = TypeVar("T")
U = TypeVar("U")
Item = TypeVar("Item")

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


class Appended(Field[Sequence[Item], list[Item] | tuple[Item, ...]]):
    """A list that grows by every update, at a cost that does not grow with it."""

    container = list

    def __init__(self, default: Sequence[Item] = ()) -> None:
        super().__init__(list(default), cast("ListHandler[Item]", merge_lists))
