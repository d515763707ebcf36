"""JSON values to typed ones and back: exactly, so that nothing becomes what it was not."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, EnumType
from functools import cache
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    is_typeddict,
)
from uuid import UUID

from attrs import has

from detent.core.checks import type_name
from detent.core.constraints import rules_of, unmet
from detent.core.errors import DetentError
from detent.core.fields import class_of, field_names, fields_of, is_named_tuple
from detent.core.forms import undecorated
from detent.core.frozen import thaw
from detent.core.json_assertions import identity, is_a, shown

if TYPE_CHECKING:
    from cattrs import Converter

PLAIN = frozenset({str, bool, NoneType, dict, list, Any, object})
"""The types whose JSON values are used as they are."""

NUMBERS: Mapping[Any, str] = {int: "integer", float: "number"}
READERS: Mapping[type, tuple[str, Callable[[Any], object]]] = {
    NoneType: ("null", lambda value: value),
    str: ("string", str),
    bool: ("boolean", bool),
    int: ("integer", int),
    float: ("number", float),
    datetime: ("string", datetime.fromisoformat),
    date: ("string", date.fromisoformat),
    time: ("string", time.fromisoformat),
    timedelta: ("number", lambda seconds: timedelta(seconds=seconds)),
    UUID: ("string", UUID),
    bytes: ("string", lambda text: b64decode(text, validate=True)),
}
"""For each scalar the JSON type that it is made of, and how."""

WRITERS: tuple[tuple[type | tuple[type, ...], Callable[[Any], object]], ...] = (
    (Enum, lambda member: member.value),
    ((date, time), lambda moment: moment.isoformat()),
    (timedelta, lambda span: span.total_seconds()),
    (bytes, lambda data: b64encode(data).decode()),
    ((UUID, Decimal), str),
    (Mapping, dict),
    ((Sequence, AbstractSet, deque), list),
)
"""What JSON has for values of these types; the first that matches counts."""


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
    while get_origin(declared) is Annotated and not any(rules_of(get_args(declared)[1:])):
        declared = get_args(declared)[0]
    if declared in PLAIN:
        return thaw(value)
    from cattrs import transform_error  # takes 30 ms to import, and most tools do without

    try:
        if declared in NUMBERS and is_a(value, NUMBERS[declared]):
            return declared(value)
        return _converter().structure(thaw(value), declared)
    except Exception as error:  # the constructors of users' classes raise what they like
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
    for known, write in WRITERS:
        if isinstance(value, known):
            return write(value)
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
    made.register_structure_hook_func(lambda kind: isinstance(kind, TypeVar), _variable)
    made.register_structure_hook_func(_is_open, _filled)
    made.register_structure_hook_func(_is_annotated, _annotated)
    made.register_structure_hook_func(_has_numbers_as_keys, _numbered)
    made.register_structure_hook_func(_is_path, lambda text, kind: kind(text))
    made.register_structure_hook_func(_is_pydantic, lambda value, kind: kind.model_validate(value))
    made.register_structure_hook_func(lambda kind: is_dataclass(class_of(kind)), _record)
    made.register_structure_hook_func(lambda kind: is_typeddict(class_of(kind)), _record)
    made.register_structure_hook_func(lambda kind: is_named_tuple(class_of(kind)), _named_tuple)
    made.register_structure_hook_func(_is_literal, _literal)
    made.register_structure_hook_func(_is_union, _union)
    made.register_structure_hook_func(_is_loose, _loose)
    return made


def _reader(wanted: str, read: Callable[[Any], object]) -> Callable[[Any, Any], Any]:
    def structure(value: object, declared: object) -> object:
        if isinstance(declared, EnumType):  # of texts or numbers
            return _enum(value, cast("type[Enum]", declared))
        if not is_a(value, wanted):
            raise ValueError(f"must be {wanted}, got {shown(value)}")
        return read(value)

    return structure


def _decimal(value: object, declared: object) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"must be a decimal number, got {shown(value)}")  # noqa: TRY004 - as the others
    return Decimal(str(value))


def _literal(value: object, declared: Any) -> object:
    for choice in get_args(declared):
        told = choice.value if isinstance(choice, Enum) else choice
        if identity(told) == identity(value):
            return choice
    raise ValueError(f"must be one of {get_args(declared)}, got {shown(value)}")


def _enum(value: object, declared: type[Enum]) -> object:
    for member in declared:
        if identity(member.value) == identity(value):
            return member
    raise ValueError(f"must be one of {[one.value for one in declared]}, got {shown(value)}")


def meaning(variable: TypeVar) -> Any:
    """What a type variable stands for that was not given a type."""
    some = variable.__constraints__
    return Union[some] if some else variable.__bound__ or Any  # noqa: UP007 - made at run time


def _variable(value: object, declared: TypeVar) -> object:
    return _converter().structure(value, meaning(declared))


def _filled(value: object, declared: Any) -> object:
    """An instance of a generic class that was not given its types."""
    return _converter().structure(value, declared[tuple(map(meaning, declared.__parameters__))])


def _annotated(value: object, declared: Any) -> object:
    kind, *notes = get_args(declared)
    made = _converter().structure(value, kind)
    if unfit := list(unmet(made, notes)):
        raise ValueError(f"{' and '.join(unfit)}, got {shown(value)}")
    return made


def _numbered(value: Any, declared: Any) -> object:
    """A dict with numbers as keys: JSON has them as text."""
    key, item = get_args(declared)
    structure = _converter().structure
    return {structure(json.loads(name), key): structure(part, item) for name, part in value.items()}


def _union(value: object, declared: Any) -> object:
    refused: list[Exception] = []
    for option in get_args(declared):
        if not _may_be(option, value):
            continue
        try:
            return _converter().structure(value, option)
        except Exception as error:  # noqa: BLE001 - the next type may take the value
            refused.append(error)
    raise ExceptionGroup(f"fits none of {type_name(declared)}", refused)


def _may_be(declared: Any, value: object) -> bool:
    """Whether the type takes values of this kind: cattrs would make a list of a dict."""
    kind = get_origin(declared) or declared
    if not isinstance(kind, type) or not issubclass(kind, Collection) or kind in READERS:
        return True
    return isinstance(value, dict if issubclass(kind, Mapping) else list)


def _loose(value: Iterable[object], declared: Any) -> list[object]:
    (kind,) = get_args(declared) or (Any,)
    return [_converter().structure(item, kind) for item in value]


def _is_open(declared: Any) -> bool:
    """Whether it is a generic attrs class that was not given its types."""
    is_attrs = isinstance(declared, type) and has(declared)
    return is_attrs and bool(getattr(declared, "__parameters__", ()))


def _has_numbers_as_keys(declared: Any) -> bool:
    kind = get_origin(declared)
    is_mapping = isinstance(kind, type) and issubclass(kind, Mapping)
    return is_mapping and undecorated(get_args(declared)[0]) in NUMBERS


def _is_path(declared: Any) -> bool:
    return isinstance(declared, type) and hasattr(declared, "__fspath__")


def _is_pydantic(declared: Any) -> bool:
    return isinstance(declared, type) and hasattr(declared, "model_validate")


def _record(value: Any, declared: Any) -> object:
    """A dataclass or a typed dict: cattrs drops the notes on their fields."""
    fields = {field.name: field for field in fields_of(declared)}
    if not isinstance(value, dict):
        raise ValueError(f"must be an object, got {shown(value)}")  # noqa: TRY004 - as the others
    missing = [name for name, field in fields.items() if field.is_required and name not in value]
    if missing or value.keys() - fields.keys():
        raise ValueError(f"must have {', '.join(fields)}, got {shown(value)}")
    kind = class_of(declared)
    given = [(name, item, fields[name].declared) for name, item in value.items()]
    return kind(**_structured(given, kind))


def _named_tuple(value: Sequence[object], declared: Any) -> object:
    fields = [(field.name, field.declared) for field in fields_of(declared)]
    given = [(name, item, kind) for (name, kind), item in zip(fields, value, strict=True)]
    return declared(**_structured(given, class_of(declared)))


def _structured(given: Sequence[tuple[str, object, Any]], declared: type) -> dict[str, object]:
    """Each value as its type, by name; what is wrong is told of all of them, with its path."""
    from cattrs.errors import AttributeValidationNote, ClassValidationError

    made: dict[str, object] = {}
    refused: list[Exception] = []
    for name, value, kind in given:
        try:
            made[name] = _converter().structure(value, kind)
        except Exception as error:  # noqa: BLE001 - told below
            note = AttributeValidationNote(f"in {declared.__name__}", name=name, type=kind)
            error.add_note(note)
            refused.append(error)
    if refused:
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
