"""JSON values to typed ones and back: exactly, so that nothing becomes what it was not."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import is_dataclass
from decimal import Decimal
from enum import Enum, EnumType
from functools import cache, partial
from math import isfinite
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    is_typeddict,
)

from attrs import has

from detent.core.errors import DetentError
from detent.core.schema.constraints import rules_of, unmet
from detent.core.schema.json_values import JsonType, identity, is_a, short_json
from detent.core.schema.record_fields import class_of, field_names, fields_of, is_named_tuple
from detent.core.schema.scalars import SCALARS
from detent.core.schema.type_checks import type_name, undecorated
from detent.core.values.frozen import thaw

if TYPE_CHECKING:
    from cattrs import Converter

PLAIN = frozenset({str, bool, NoneType, dict, list, Any, object})
"""The types whose JSON values are used as they are."""

NUMBERS = frozenset({int, float})
READERS: Mapping[type, tuple[JsonType, Callable[[Any], object]]] = {
    NoneType: ("null", lambda value: value),
    str: ("string", str),
    bool: ("boolean", bool),
    int: ("integer", int),
    float: ("number", float),
    **{kind: ("string", scalar.read) for kind, scalar in SCALARS.items() if kind is not Decimal},
}
"""For each scalar the JSON type that it is made of, and how; a `Decimal` is made of two."""

Reader: TypeAlias = Callable[[object, str], Any]
Structure: TypeAlias = Callable[[Any, Any], Any]
"""How cattrs makes a value of JSON one of a type."""


class ConversionError(DetentError, ValueError):
    """A JSON value cannot become what a type asks for; `faults` has a sentence for each reason."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(self.faults))


def convert(value: object, declared: Any, name: str) -> Any:
    """The JSON value `value`, called `name`, as an instance of the type `declared`.

    Nothing becomes another kind of thing: text stays out of an int, and so does true. A union takes
    the first of its types that the value fits.

    Raises:
        ConversionError: the value does not fit, or a class refuses it.
    """
    return reader(declared)(value, name)


def reader(declared: Any) -> Reader:
    """What `convert` does for one type, which it looks at once: takes a value and its name."""
    while get_origin(declared) is Annotated and not any(rules_of(get_args(declared)[1:])):
        declared = get_args(declared)[0]
    if declared in PLAIN:
        return as_it_is
    return partial(_number if declared in NUMBERS else _structured_as, declared)


def as_it_is(value: object, name: str) -> object:
    """The reader for what may be anything: a copy that may be changed."""
    return thaw(value)


def _number(declared: Any, value: Any, name: str) -> Any:
    if type(value) is declared and (declared is int or isfinite(value)):
        return value
    return _structured_as(declared, value, name)


def _structured_as(declared: Any, value: object, name: str) -> Any:
    try:
        return _converter().structure(thaw(value), declared)
    except Exception as error:  # the constructors of users' classes raise what they like
        from cattrs import transform_error  # only loaded where something needs it

        faults = transform_error(error, name, format_exception=_reason)
        parted = (fault.rpartition(" @ ") for fault in faults)
        sentences = (f"'{place}' cannot be used: {reason}" for reason, _, place in parted)
        raise ConversionError(sentences) from error


def plain(value: Any) -> object:
    """What `value` is as JSON, one level deep: the ``default`` of `json.dumps`.

    What `convert` makes of it has the same value again.

    Raises:
        TypeError: nothing in JSON stands for it.
    """
    kind = type(value)
    if hasattr(kind, "model_dump"):
        return value.model_dump(mode="json")
    if (names := field_names(kind)) is not None:
        return {name: getattr(value, name) for name in names}
    if isinstance(value, Enum):
        return value.value
    for scalar, form in SCALARS.items():  # in this order: a datetime is a date too
        if isinstance(value, scalar):
            return form.write(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence | AbstractSet | deque):
        return list(value)
    if hasattr(kind, "__fspath__"):
        return str(value)
    raise TypeError(f"nothing in JSON stands for {type_name(kind)}")


@cache
def _converter() -> Converter:
    from cattrs import Converter

    made = Converter(forbid_extra_keys=True)
    for kind, (wanted, read) in READERS.items():
        made.register_structure_hook(kind, _reader(wanted, read))
    made.register_structure_hook(Decimal, _decimal)
    made.register_structure_hook(Enum, _enum)
    for predicate, factory in FACTORIES:
        made.register_structure_hook_factory(predicate, factory)
    return made


def _reader(wanted: JsonType, read: Callable[[Any], object]) -> Callable[[Any, Any], Any]:
    def structure(value: object, declared: object) -> object:
        if declared is type(value) and declared is not float:  # which has NaN
            return value
        if isinstance(declared, EnumType):  # of texts or numbers
            return _enum(value, cast("type[Enum]", declared))
        if not is_a(value, wanted):
            raise ValueError(f"must be {wanted}, got {short_json(value)}")
        return read(value)

    return structure


def _decimal(value: object, declared: object) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"must be a decimal number, got {short_json(value)}")  # noqa: TRY004 - one kind for all
    return cast(Decimal, SCALARS[Decimal].read(str(value)))


def _literal(declared: Any) -> Structure:
    choices = get_args(declared)
    values = [choice.value if isinstance(choice, Enum) else choice for choice in choices]
    by_identity = dict(zip(map(identity, values), choices, strict=True))

    def structure(value: object, _: object) -> object:
        if (key := identity(value)) in by_identity:
            return by_identity[key]
        raise ValueError(f"must be one of {choices}, got {short_json(value)}")

    return structure


def _enum(value: object, declared: type[Enum]) -> object:
    for member in declared:
        if identity(member.value) == identity(value):
            return member
    choices = [member.value for member in declared]
    raise ValueError(f"must be one of {choices}, got {short_json(value)}")


def meaning(variable: TypeVar) -> Any:
    """What a type variable stands for that was not given a type."""
    bounds = variable.__constraints__
    return Union[bounds] if bounds else variable.__bound__ or Any  # noqa: UP007 - made at run time


def _as(declared: Any) -> Structure:
    """What makes a value one of this type; it is found when needed: a class may contain itself."""
    found = cache(lambda: _converter().get_structure_hook(declared))
    return lambda value, _: found()(value, declared)


def _annotated(declared: Any) -> Structure:
    kind, *notes = get_args(declared)
    rules = tuple(rules_of(notes))
    inside = _as(kind)

    def structure(value: object, _: object) -> object:
        made = inside(value, None)
        if unfit := list(unmet(made, rules)):
            raise ValueError(f"{' and '.join(unfit)}, got {short_json(value)}")
        return made

    return structure


def _numbered(declared: Any) -> Structure:
    """For a dict with numbers as keys: JSON has them as text."""
    key, item = map(_as, get_args(declared))
    return lambda value, _: {
        key(json.loads(name), None): item(part, None) for name, part in value.items()
    }


def _union(declared: Any) -> Structure:
    options: list[tuple[Structure, JsonType | None]] = [
        (_as(option), _json_type(option)) for option in get_args(declared)
    ]

    def structure(value: object, _: object) -> object:
        refused: list[Exception] = []
        for option, wanted in options:
            if wanted is None or is_a(value, wanted):
                try:
                    return option(value, None)
                except Exception as error:  # noqa: BLE001 - the next type may take the value
                    refused.append(error)
        if refused:
            raise ExceptionGroup(f"fits none of {type_name(declared)}", refused)
        raise ValueError(f"must be {type_name(declared)}, got {short_json(value)}")

    return structure


def _json_type(declared: Any) -> JsonType | None:
    """The JSON type that values of this one are made of, where there is only one."""
    kind = get_origin(declared) or declared
    if kind in READERS:
        return READERS[kind][0]
    if not isinstance(kind, type) or not issubclass(kind, Collection):
        return None
    return "object" if issubclass(kind, Mapping) else "array"


def _loose(declared: Any) -> Structure:
    item = _as(*(get_args(declared) or (Any,)))
    return lambda value, _: [item(part, None) for part in value]


def _has_numbers_as_keys(declared: Any) -> bool:
    kind = get_origin(declared)
    is_mapping = isinstance(kind, type) and issubclass(kind, Mapping)
    return is_mapping and undecorated(get_args(declared)[0]) in NUMBERS


def _record(declared: Any) -> Structure:
    """For a dataclass or a typed dict: cattrs drops the notes on their fields."""
    kind = class_of(declared)
    fields = {field.name: _as(field.declared) for field in fields_of(declared)}
    required = {field.name for field in fields_of(declared) if field.is_required}

    def structure(value: Any, _: object) -> object:
        if not isinstance(value, dict):
            raise ValueError(f"must be an object, got {short_json(value)}")  # noqa: TRY004 - one kind for all
        if not required <= value.keys() <= fields.keys():
            raise ValueError(f"must have {', '.join(fields)}, got {short_json(value)}")
        return _made(kind, ((name, item, fields[name]) for name, item in value.items()))

    return structure


def _named_tuple(declared: Any) -> Structure:
    fields = [(field.name, _as(field.declared)) for field in fields_of(declared)]
    kind = class_of(declared)

    def structure(value: Sequence[object], _: object) -> object:
        entries = zip(fields, value, strict=True)
        return _made(kind, ((name, item, make) for (name, make), item in entries))

    return structure


def _made(kind: Any, entries: Iterable[tuple[str, object, Structure]]) -> object:
    """A record of (name, value, structure): what is wrong is said of all of them, with its path."""
    parts: dict[str, object] = {}
    refused: list[Exception] = []
    for name, value, structure in entries:
        try:
            parts[name] = structure(value, None)
        except Exception as error:  # noqa: BLE001 - raised with the others, after the last
            from cattrs.errors import AttributeValidationNote

            error.add_note(AttributeValidationNote(f"in {kind.__name__}", name=name, type=None))
            refused.append(error)
    if refused:
        from cattrs.errors import ClassValidationError

        text = f"{kind.__name__} does not fit"
        raise ClassValidationError(text, refused, kind)  # pyright: ignore[reportCallIssue]  # it sees the parent's __new__
    return kind(**parts)


def _reason(error: BaseException, declared: object) -> str:
    if isinstance(error, KeyError):
        return "is missing"
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"


def _is(*origins: object) -> Callable[[Any], bool]:
    return lambda declared: (get_origin(declared) or declared) in origins


def _has(method: str) -> Callable[[Any], bool]:
    return lambda declared: isinstance(declared, type) and hasattr(declared, method)


def _is_dict_or_dataclass(declared: Any) -> bool:
    kind = class_of(declared)
    return is_dataclass(kind) or is_typeddict(kind)


FACTORIES: Sequence[tuple[Callable[[Any], bool], Callable[[Any], Structure]]] = (
    (lambda declared: isinstance(declared, TypeVar), lambda variable: _as(meaning(variable))),
    (  # a generic class that was not given its types
        lambda declared: has(declared) and bool(getattr(declared, "__parameters__", ())),
        lambda kind: _as(kind[tuple(map(meaning, kind.__parameters__))]),
    ),
    (_is(Annotated), _annotated),
    (_has_numbers_as_keys, _numbered),
    (_has("__fspath__"), lambda kind: lambda text, _: kind(text)),
    (_has("model_validate"), lambda kind: lambda value, _: kind.model_validate(value)),
    (_is_dict_or_dataclass, _record),
    (lambda declared: is_named_tuple(class_of(declared)), _named_tuple),
    (_is(Literal), _literal),
    (_is(Union, UnionType), _union),
    (_is(Collection, Iterable), _loose),
)
"""What makes the values of which types, looked at once for each; the last that matches counts."""
