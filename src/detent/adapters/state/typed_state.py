"""Typed states: schemas as classes, in whose use a type checker sees every mistake."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import new_class
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    ParamSpec,
    Self,
    TypeVar,
    get_args,
    get_origin,
    overload,
)

from detent.core.errors import SchemaError
from detent.core.schema.type_checks import Check, type_name
from detent.core.state.dict_schema import keys_of
from detent.core.state.dropped import warn_of_drop
from detent.core.state.fields import Field
from detent.core.state.handlers import Handler, merge_lists
from detent.core.state.keys import Key, TypedKey, Write
from detent.core.state.state import BaseState
from detent.core.values.frozen import FrozenDict

P = ParamSpec("P")
T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")


class TypedState(BaseState):
    """A state whose keys are the fields of a class. Schemas inherit and combine.

    ``class Research(TypedState, check="first")`` looks only at the first item of a collection when
    a value is checked against its type; otherwise every new item is looked at.

    Args:
        writes: initial values, each made with ``Research.key.put(value)``.

    Raises:
        SchemaError: a field's parts do not fit together, or its name is taken; on class creation.

    >>> from detent.adapters.state.fields import Replaced
    >>> from detent.core.state.fields import Appended
    >>> class Research(TypedState):
    ...     user_name = Replaced("")
    ...     queries = Appended[str]()
    >>> state = Research().set(Research.queries, ["detents"])
    >>> state.queries, state.user_name
    (['detents'], '')
    """

    __slots__ = ()
    _declared: ClassVar[FrozenDict[str, Key[Any, Any]]] = FrozenDict(
        {"messages": BaseState.messages}
    )

    def __init_subclass__(cls, check: Check = "all") -> None:
        cls._declared = keys_in(cls, taken=dir(TypedState), check=check)

    def __init__(self, *writes: Write) -> None:
        self._begin(self._declared, writes)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """The state that `to_dict` stored. See `restored`."""
        return cls().restored(stored)

    @overload
    def get(self, key: Key[T, Any]) -> T | None: ...
    @overload
    def get(self, key: Key[T, Any], default: V) -> T | V: ...
    def get(self, key: Key[Any, Any], default: object = None) -> Any:
        """What `key` holds; without a value its default, or `default`. For keys that may be unset.

        Raises:
            StateError: the key belongs to another schema.
        """
        return self.read(self._own(key).name, default)

    def has(self, key: Key[Any, Any]) -> bool:
        """Whether anything was written to `key`.

        Raises:
            StateError: the key belongs to another schema.
        """
        return self._own(key).name in self._values

    if TYPE_CHECKING:  # takes what key.put takes, so that a checker infers it from the key alone

        def set(self, key: TypedKey[P], *value: P.args, **override: P.kwargs) -> Self:
            """A new state with an update merged into `key`."""
            ...

    else:

        def set(
            self, key: Key[T, U], value: U, handler_override: Handler[T, U] | None = None
        ) -> Self:
            """A new state with `value` merged into `key`, by `handler_override` if one is given.

            Raises:
                StateError: the key belongs to another schema, the handler raised, or a value has
                    the wrong type.
            """
            new = self._put(self._own(key), value, handler_override)
            if new is not self:
                warn_of_drop(f"state.set({type(self).__name__}.{key.name}, …)")
            return new


def class_schema(name: str, schema: Mapping[str, object]) -> type[TypedState]:
    """The class schema with the keys of a dict schema. The other way goes ``Research().schema``.

    Raises:
        SchemaError: an entry of the schema is not one, or its name cannot be an attribute.
    """
    keys = dict(keys_of(schema))
    messages = keys.pop("messages", BaseState.messages)
    if messages.handler is not merge_lists:
        raise SchemaError("in a class schema 'messages' is there by itself, merged by merge_lists")
    body = {key_name: field_of(key) for key_name, key in keys.items()}
    return new_class(name, (TypedState,), exec_body=lambda namespace: namespace.update(body))


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
