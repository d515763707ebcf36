"""The fields of records: attrs classes, dataclasses, typed dicts, named tuples, pydantic models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, InitVar, is_dataclass
from dataclasses import fields as dataclass_fields
from typing import (
    Any,
    Generic,
    NamedTuple,
    NotRequired,
    Required,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from attrs import NOTHING, has
from attrs import fields as attrs_fields

PARTLESS = (str, bytes, int, float, list, tuple, set, frozenset, type(None))
"""Types whose values have no parts with names, unless they are records."""

EMPTY = frozenset({list, dict, set, tuple, frozenset})
"""The classes that make something empty."""


class NoSchemaError(TypeError):
    """No schema says how a class reads a value, so that something else would be shown than runs."""


class RecordField(NamedTuple):
    """A field that a record is made with. Without a default in so many words, that is NOTHING.

    `alias` is what attrs or pydantic calls the argument for it, where that is not the name. What
    stands for one that is left out `is_made` by code where only a call of that tells what it will
    be.
    """

    name: str
    declared: Any
    is_required: bool
    default: object = NOTHING
    alias: str = ""
    is_made: bool = False


def field_names(kind: type) -> tuple[str, ...] | None:
    """The fields that a record of this class is made with; None if it makes no records."""
    if has(kind):
        return tuple(item.name for item in attrs_fields(kind) if item.init)
    if is_dataclass(kind):
        return tuple(item.name for item in dataclass_fields(kind) if item.init)
    names = getattr(kind, "_fields", getattr(kind, "model_fields", None))
    return None if names is None else tuple(names)


def is_named_tuple(kind: Any) -> bool:
    """Whether it is a class of tuples whose items have names."""
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def fields_of(hint: Any) -> Iterator[RecordField]:
    """The fields of an attrs class, a dataclass, a typed dict or a named tuple.

    Of a generic one they have the types that it was given: ``Page[int]``.

    Raises:
        NameError: a type names something that its module does not have.
    """
    kind = class_of(hint)
    arguments = _arguments(hint)
    raw = get_type_hints(kind, include_extras=True)
    hints = {name: _fill(part, arguments) for name, part in raw.items()}
    if is_typeddict(kind):
        return _of_typed_dict(kind, hints)
    if has(kind):
        return _of_attrs(kind, hints)
    if is_named_tuple(kind):
        names = field_names(kind) or ()
        return (RecordField(name, hints.get(name, Any), is_required=True) for name in names)
    return _of_dataclass(kind, hints)


def class_of(hint: Any) -> Any:
    """The class itself, of a generic one that was given its types."""
    return get_origin(hint) or hint


def _arguments(hint: Any) -> dict[object, Any]:
    """For each type variable of a generic class, and of those it comes from, what it stands for."""
    kind = class_of(hint)
    variables: tuple[object, ...] = getattr(kind, "__parameters__", ())
    arguments: dict[object, Any] = dict(zip(variables, get_args(hint), strict=False))
    for base in getattr(kind, "__orig_bases__", ()):
        if get_origin(base) is not Generic:
            arguments = {**_arguments(_fill(base, arguments)), **arguments}
    return arguments


def _fill(hint: Any, arguments: Mapping[object, Any]) -> Any:
    """The type with every variable replaced by what it stands for."""
    if isinstance(hint, TypeVar):
        return arguments.get(hint, hint)
    variables = getattr(hint, "__parameters__", ())
    if not variables or get_origin(hint) is None:
        return hint
    return hint[tuple(arguments.get(variable, variable) for variable in variables)]


def _of_typed_dict(kind: Any, hints: dict[str, Any]) -> Iterator[RecordField]:
    for name, hint in hints.items():
        mark = get_origin(hint)
        if mark in (Required, NotRequired):
            yield RecordField(name, get_args(hint)[0], mark is Required)
        else:
            yield RecordField(name, hint, name in kind.__required_keys__)


def _of_attrs(kind: Any, hints: dict[str, Any]) -> Iterator[RecordField]:
    for item in attrs_fields(kind):
        if item.init:
            default, is_factory = item.default, hasattr(item.default, "takes_self")
            if is_factory:
                default = _default_of(default.factory)
            yield RecordField(
                item.name,
                hints.get(item.name, Any),
                item.default is NOTHING,
                default,
                item.alias,
                is_factory and default is NOTHING,
            )


def _default_of(factory: object) -> object:
    """What a factory makes each time alike; NOTHING of any other: a clock, say, or chance."""
    return factory() if isinstance(factory, type) and factory in EMPTY else NOTHING


def require_name(alias: Any) -> str:
    """The name that pydantic looks for first, of what it keeps of a `validation_alias`; or "".

    Raises:
        NoSchemaError: it looks inside another value first: no schema says so, and whoever judges or
            approves the argument by its schema would not see what is read.
    """
    first = alias[0] if isinstance(alias, list | tuple) and alias else alias
    path = alias if isinstance(first, str) and first is not alias else first
    if isinstance(path, list | tuple):
        if len(path) != 1:
            raise NoSchemaError(
                f"a field is read from AliasPath({', '.join(map(repr, path))}), and no schema says "
                "so: what is shown would not be what is read; give it a name of its own"
            )
        path = path[0]
    return path or ""


def alias_of(kind: Any, alias: Any) -> str:
    """What a class of pydantic calls a field with this `validation_alias`; "" as the field."""
    config = getattr(kind, "model_config", None) or getattr(kind, "__pydantic_config__", {})
    if not config.get("validate_by_alias", True):
        return ""
    made = alias.convert_to_aliases() if hasattr(alias, "convert_to_aliases") else alias
    return require_name(made)


def _of_dataclass(kind: Any, hints: dict[str, Any]) -> Iterator[RecordField]:
    known = getattr(kind, "__pydantic_fields__", {})
    for item in dataclass_fields(kind):
        if item.init:
            made_by = cast(object, item.default_factory)
            default, alias = cast(object, item.default), ""
            if (info := known.get(item.name)) is not None:  # pydantic has its own in their place
                made_by = info.default_factory or MISSING
                default = MISSING if info.is_required() or info.default_factory else info.default
                alias = alias_of(kind, info.validation_alias)
            is_required = default is MISSING and made_by is MISSING
            if default is MISSING:
                default = _default_of(made_by)
            is_made = default is NOTHING and not is_required
            yield RecordField(item.name, hints[item.name], is_required, default, alias, is_made)
    for name, hint in hints.items():
        if isinstance(hint, InitVar):  # no field, and the class is made with it all the same
            default = getattr(kind, name, NOTHING)
            yield RecordField(name, hint.type, default is NOTHING, default)
