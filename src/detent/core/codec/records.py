"""Our own values as JSON and back: runs, events, messages, by the types of their fields.

A new event, status or part of a message needs no line here. In a union each object says its kind
by a fixed tag. Nothing that is stored can name a class, a function or a module of its own, and what
does not fit exactly is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from functools import cache
from math import isfinite
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from attrs import has

from detent.core.codec.json_text import TAG, NotPlainError, encoded, plain_text, quoted
from detent.core.codec.record import record_of
from detent.core.codec.shapes import (
    RefusedError,
    Shape,
    Spec,
    an_array,
    an_object,
    array_of,
    exactly,
    misfit,
    object_of,
    one_of,
    refusing,
)
from detent.core.errors import StoredDataError, UnstorableError
from detent.core.schema.record_fields import is_named_tuple
from detent.core.values.frozen import FrozenDict, freeze

T = TypeVar("T")


def dump(value: object, declared: Any = None, spec: Spec = None) -> Any:
    """`value` as plain JSON. `declared` is its type; without it, that of the value itself.

    Raises:
        UnstorableError: something in it cannot be written as JSON.
    """
    return json.loads(text_of(value, declared, spec))


def text_of(value: object, declared: Any = None, spec: Spec = None) -> str:
    """The same as JSON text, which is quicker. Raises as above."""
    try:
        kind: Any = declared or type(value)
        return shape_of(kind).write(value, spec)
    except RefusedError as error:
        raise UnstorableError(f"this cannot be stored: {error}") from None
    except RecursionError:
        raise UnstorableError("this is nested too deeply to be stored") from None


def load(data: object, kind: type[T], spec: Spec = None) -> T:
    """The value of this kind, or union of kinds, that `data` says.

    Without an agent, what the keys of its state hold is not read.

    Raises:
        StoredDataError: it says none; the message says where.
    """
    known: Any = kind
    try:
        read: Callable[[Any, Spec], T] = shape_of(known).read
        return read(data, spec)
    except RefusedError as error:
        raise StoredDataError(f"stored data cannot be read: {error}") from None
    except RecursionError:
        raise StoredDataError("stored data is nested too deeply") from None


@cache
def shape_of(declared: Any) -> Shape:
    """How values of a type that is declared in our own vocabulary are written and read."""
    origin, arguments = get_origin(declared) or declared, get_args(declared)
    if origin is FrozenDict and arguments[1:] != (object,):
        return object_of(shape_of(arguments[1]))
    if origin in OWN:
        return OWN[origin]
    if isinstance(origin, TypeVar):
        return shape_of(origin.__bound__)
    if origin in (Union, UnionType):
        return _union(arguments)
    if origin is Literal:
        return one_of({choice: choice for choice in arguments})
    if origin is tuple:
        return array_of(shape_of(arguments[0]))
    if issubclass(origin, Enum):
        return one_of({member.value: member for member in origin})
    if is_named_tuple(origin):
        return _named_tuple(origin)
    return record_of(origin, shape_of, tagged=False)


def _write_text(value: Any, spec: Spec) -> str:
    if not isinstance(value, str):
        raise misfit("str", value)
    return quoted(value)


def _write_integer(value: Any, spec: Spec) -> str:
    return repr(value) if type(value) is int else _INTEGER.write(value, spec)


def _write_number(value: Any, spec: Spec) -> str:
    return repr(value) if type(value) is float and isfinite(value) else _NUMBER.write(value, spec)


def _read_number(data: Any, spec: Spec) -> float:
    try:
        return float(_NUMBER.read(data, spec))
    except OverflowError as error:
        raise RefusedError(error) from None


def _write_open(value: Any, spec: Spec) -> str:
    try:
        return plain_text(value)
    except NotPlainError:
        return _write_any(value, spec)


def _read_open(data: Any, spec: Spec) -> Any:
    if type(data) is not dict:
        an_object(data)
    if TAG not in data and FLAT.issuperset(map(type, data.values())):  # plain JSON at first sight
        made: FrozenDict[str, Any] = dict.__new__(FrozenDict)  # its constructor takes 0.3 µs more
        dict.update(made, data)
        return made
    return freeze(an_object(_read_any(data, spec)))


@refusing
def _write_any(value: Any, spec: Spec) -> str:
    from detent.core.codec.values import to_json  # cattrs is only loaded when it is needed

    return encoded(to_json(value, place="it"))


@refusing
def _read_any(data: Any, spec: Spec) -> Any:
    from detent.core.codec.values import from_json  # as above

    return from_json(data, place="it")


def _named_tuple(kind: Any) -> Shape:
    """As an array."""
    shapes = [shape_of(declared) for declared in get_type_hints(kind).values()]
    plain = tuple(shape.plain for shape in shapes)
    is_numbers = {int}.issuperset(plain)

    def read(data: Any, spec: Spec) -> Any:
        if (*map(type, an_array(data)),) == plain:  # most of them
            return kind(*data)
        if len(data) != len(shapes):
            raise RefusedError(f"must be an array of {' and '.join(kind._fields)}")
        return kind(*(shape.read(one, spec) for shape, one in zip(shapes, data, strict=True)))

    def write(value: Any, spec: Spec) -> str:
        if is_numbers and (*map(type, value),) == plain:  # a call's place: with every event of it
            return f"[{','.join(map(repr, value))}]"
        items = [shape.write(one, spec) for shape, one in zip(shapes, value, strict=True)]
        return f"[{','.join(items)}]"

    return Shape(write, read)


def _union(members: tuple[Any, ...]) -> Shape:
    """By the type of the JSON value; of several records, by the tag."""
    records = [one for one in members if has(one)]
    if len(records) == len(members):
        return _tagged(records)
    by_value = {get_origin(one) or one: shape_of(one) for one in members if one not in records}
    by_json = {list if kind is tuple else kind: shape for kind, shape in by_value.items()}
    if float in by_value:
        by_value[int] = by_json[int] = by_value[float]
    if records:
        by_json[dict] = shape_of(records[0]) if len(records) == 1 else _tagged(records)
        by_value |= dict.fromkeys(records, by_json[dict])

    def find(known: Mapping[type, Shape], value: Any) -> Shape:
        for kind, shape in known.items():
            if isinstance(value, kind):
                return shape
        raise misfit(" or ".join(JSON_NAMES.get(kind, kind.__name__) for kind in known), value)

    def write(value: Any, spec: Spec) -> str:
        return (by_value.get(type(value)) or find(by_value, value)).write(value, spec)

    def read(data: Any, spec: Spec) -> Any:
        return (by_json.get(type(data)) or find(by_json, data)).read(data, spec)

    return Shape(write, read, by_json[str].plain if str in by_json else None)


def _tagged(records: Sequence[Any]) -> Shape:
    by_kind = {one: record_of(one, shape_of, tagged=True) for one in records}
    named = {one.__name__: record for one, record in by_kind.items()}

    def write(value: Any, spec: Spec) -> str:
        record = by_kind.get(type(value))
        if record is None:
            raise misfit(" or ".join(named), value)
        return record.write(value, spec)

    def read(data: Any, spec: Spec) -> Any:
        try:
            record = named[data[TAG]]
        except (KeyError, TypeError):
            record = named[_tag_of(data, named)]
        return record.read(data, spec)

    return Shape(write, read)


def _tag_of(data: Any, named: Collection[str]) -> str:
    tag = an_object(data).get(TAG)
    if not isinstance(tag, str) or tag not in named:
        told = f"must have {TAG!r}, one of {', '.join(named)}"
        raise RefusedError(f"{told}, got {str(tag)[:40]!r}")
    return tag


FLAT: frozenset[type] = frozenset({str, bool, int, float, NoneType})
JSON_NAMES: Mapping[type, str] = {dict: "an object", list: "an array", NoneType: "null"}
_INTEGER = exactly(int)
_NUMBER = exactly(float, int)
OWN: dict[Any, Shape] = {
    str: Shape(_write_text, exactly(str).read, str),
    int: Shape(_write_integer, _INTEGER.read, int),
    bool: exactly(bool),
    NoneType: exactly(NoneType),
    float: Shape(_write_number, _read_number),
    FrozenDict: Shape(_write_open, _read_open),
}
"""What is not made up of its fields."""


def register(
    kind: Any, write: Callable[[Any, Spec], str], read: Callable[[Any, Spec], Any]
) -> None:
    """Have values of this class written and read in a way of their own."""
    OWN[kind] = Shape(write, read)
