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
from detent.core.schema.json_values import JsonType, identity, is_a, shown
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

        told = transform_error(error, name, format_exception=_reason)
        raise ConversionError(map(_sentence, told)) from error


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
    if (known := next((known for known in SCALARS if isinstance(value, known)), None)) is not None:
        return SCALARS[known].write(value)
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
    for is_one, made_for in FACTORIES:
        made.register_structure_hook_factory(is_one, made_for)
    return made


def _reader(wanted: JsonType, read: Callable[[Any], object]) -> Callable[[Any, Any], Any]:
    def structure(value: object, declared: object) -> object:
        if declared is type(value) and declared is not float:  # which has NaN
            return value
        if isinstance(declared, EnumType):  # of texts or numbers
            return _enum(value, cast("type[Enum]", declared))
        if not is_a(value, wanted):
            raise ValueError(f"must be {wanted}, got {shown(value)}")
        return read(value)

    return structure


def _decimal(value: object, declared: object) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"must be a decimal number, got {shown(value)}")  # noqa: TRY004 - as the others
    return cast(Decimal, SCALARS[Decimal].read(str(value)))


def _literal(declared: Any) -> Structure:
    choices = get_args(declared)
    told = [choice.value if isinstance(choice, Enum) else choice for choice in choices]
    by_identity = dict(zip(map(identity, told), choices, strict=True))

    def structure(value: object, _: object) -> object:
        if (key := identity(value)) in by_identity:
            return by_identity[key]
        raise ValueError(f"must be one of {choices}, got {shown(value)}")

    return structure


def _enum(value: object, declared: type[Enum]) -> object:
    for member in declared:
        if identity(member.value) == identity(value):
            return member
    raise ValueError(f"must be one of {[one.value for one in declared]}, got {shown(value)}")


def meaning(variable: TypeVar) -> Any:
    """What a type variable stands for that was not given a type."""
    some = variable.__constraints__
    return Union[some] if some else variable.__bound__ or Any  # noqa: UP007 - made at run time


def _as(declared: Any) -> Structure:
    """What makes a value one of this type; it is found when needed: a class may contain itself."""
    found = cache(lambda: _converter().get_structure_hook(declared))
    return lambda value, _: found()(value, declared)


def _variable(declared: TypeVar) -> Structure:
    return _as(meaning(declared))


def _filled(declared: Any) -> Structure:
    """For a generic class that was not given its types."""
    return _as(declared[tuple(map(meaning, declared.__parameters__))])


def _annotated(declared: Any) -> Structure:
    kind, *notes = get_args(declared)
    rules = tuple(rules_of(notes))
    inside = _as(kind)

    def structure(value: object, _: object) -> object:
        made = inside(value, None)
        if unfit := list(unmet(made, rules)):
            raise ValueError(f"{' and '.join(unfit)}, got {shown(value)}")
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
        raise ValueError(f"must be {type_name(declared)}, got {shown(value)}")

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


def _is_open(declared: Any) -> bool:
    """Whether it is a generic attrs class that was not given its types, or only variables."""
    return has(declared) and bool(getattr(declared, "__parameters__", ()))


def _has_numbers_as_keys(declared: Any) -> bool:
    kind = get_origin(declared)
    is_mapping = isinstance(kind, type) and issubclass(kind, Mapping)
    return is_mapping and undecorated(get_args(declared)[0]) in NUMBERS


def _is_path(declared: Any) -> bool:
    return isinstance(declared, type) and hasattr(declared, "__fspath__")


def _is_pydantic(declared: Any) -> bool:
    return isinstance(declared, type) and hasattr(declared, "model_validate")


def _record(declared: Any) -> Structure:
    """For a dataclass or a typed dict: cattrs drops the notes on their fields."""
    kind = class_of(declared)
    fields = {field.name: _as(field.declared) for field in fields_of(declared)}
    required = [field.name for field in fields_of(declared) if field.is_required]

    def structure(value: Any, _: object) -> object:
        if not isinstance(value, dict):
            raise ValueError(f"must be an object, got {shown(value)}")  # noqa: TRY004 - as the others
        if any(name not in value for name in required) or value.keys() - fields.keys():
            raise ValueError(f"must have {', '.join(fields)}, got {shown(value)}")
        given = [(name, item, fields[name]) for name, item in value.items()]
        return kind(**_structured(given, kind))

    return structure


def _named_tuple(declared: Any) -> Structure:
    fields = [(field.name, _as(field.declared)) for field in fields_of(declared)]
    kind = class_of(declared)

    def structure(value: Sequence[object], _: object) -> object:
        given = [(name, item, make) for (name, make), item in zip(fields, value, strict=True)]
        return kind(**_structured(given, kind))

    return structure


def _structured(
    given: Sequence[tuple[str, object, Structure]], declared: type
) -> dict[str, object]:
    """Each value as its type, by name; what is wrong is told of all of them, with its path."""
    made: dict[str, object] = {}
    refused: list[Exception] = []
    for name, value, make in given:
        try:
            made[name] = make(value, None)
        except Exception as error:  # noqa: BLE001 - told below
            from cattrs.errors import AttributeValidationNote

            note = AttributeValidationNote(f"in {declared.__name__}", name=name, type=None)
            error.add_note(note)
            refused.append(error)
    if refused:
        from cattrs.errors import ClassValidationError

        text = f"{declared.__name__} does not fit"
        raise ClassValidationError(text, refused, declared)  # pyright: ignore[reportCallIssue]  # it sees the parent's __new__
    return made


def _is_annotated(declared: Any) -> bool:
    return get_origin(declared) is Annotated


def _is_literal(declared: Any) -> bool:
    return get_origin(declared) is Literal


def _is_union(declared: Any) -> bool:
    return get_origin(declared) in (Union, UnionType)


def _is_loose(declared: Any) -> bool:
    return (get_origin(declared) or declared) in (Collection, Iterable)


def _reason(error: BaseException, declared: object) -> str:
    if isinstance(error, KeyError):
        return "is missing"
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"


def _sentence(told: str) -> str:
    reason, _, path = told.rpartition(" @ ")
    return f"'{path}' cannot be used: {reason}"


FACTORIES: Sequence[tuple[Callable[[Any], bool], Callable[[Any], Structure]]] = (
    (lambda declared: isinstance(declared, TypeVar), _variable),
    (_is_open, _filled),
    (_is_annotated, _annotated),
    (_has_numbers_as_keys, _numbered),
    (_is_path, lambda kind: lambda text, _: kind(text)),
    (_is_pydantic, lambda kind: lambda value, _: kind.model_validate(value)),
    (lambda declared: is_dataclass(class_of(declared)), _record),
    (lambda declared: is_typeddict(class_of(declared)), _record),
    (lambda declared: is_named_tuple(class_of(declared)), _named_tuple),
    (_is_literal, _literal),
    (_is_union, _union),
    (_is_loose, _loose),
)
"""What makes the values of which types, looked at once for each; the last that matches counts."""
