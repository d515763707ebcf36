"""Our own values as plain JSON and back: runs, events, messages, by the types of their fields.

A new event, status or part of a message needs no line here. In a union each object says its kind
by a fixed tag. Nothing that is stored can name a class, a function or a module of its own, and what
does not fit exactly is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache, cached_property
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from attrs import NOTHING, Attribute, fields, has

from detent.core.errors import StateError, StoredDataError, UnstorableError
from detent.core.fields import is_named_tuple
from detent.core.frozen import FrozenDict, freeze
from detent.core.keys import Write
from detent.core.spec import AgentSpec
from detent.core.state import BaseState
from detent.core.writes import write_from_json, write_to_json

T = TypeVar("T")
Spec: TypeAlias = AgentSpec[Any] | None

TAG = "$type"
"""The entry that says which member of a union an object is. In format 1 it was "is"."""


class Shape(NamedTuple):
    """How values of one type are written and read; the agent says what names stand for."""

    write: Callable[[Any, Spec], Any]
    read: Callable[[Any, Spec], Any]


class RefusedError(Exception):
    """A value, or what was stored, is not of its type. `path` is where, from the inside out."""

    def __init__(self, reason: object) -> None:
        super().__init__(str(reason)[:500])
        self.path: list[str | int] = []

    def __str__(self) -> str:
        steps = [f"[{one}]" if isinstance(one, int) else f".{one}" for one in reversed(self.path)]
        return f"{self.args[0]} @ data{''.join(steps)}"


def dump(value: object, declared: Any = None, spec: Spec = None) -> Any:
    """`value` as plain JSON. `declared` is its type; without it, that of the value itself.

    Raises:
        UnstorableError: something in it cannot be written as JSON.
    """
    try:
        return shape_of(cast(Hashable, declared or type(value))).write(value, spec)
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
    try:
        return cast(T, shape_of(cast(Hashable, kind)).read(data, spec))
    except RefusedError as error:
        raise StoredDataError(f"stored data cannot be read: {error}") from None
    except RecursionError:
        raise StoredDataError("stored data is nested too deeply") from None


@cache
def shape_of(declared: Any) -> Shape:
    """How values of a type that is declared in our own vocabulary are written and read."""
    origin, arguments = get_origin(declared) or declared, get_args(declared)
    if origin is FrozenDict and arguments[1:] != (object,):
        return _mapping(shape_of(arguments[1]))
    if origin in OWN:
        return OWN[origin]
    if isinstance(origin, TypeVar):
        return shape_of(origin.__bound__)
    if origin in (Union, UnionType):
        return _union(arguments)
    if origin is Literal:
        return _literal(arguments)
    if origin is tuple:
        return _tuple(shape_of(arguments[0]))
    if issubclass(origin, Enum):
        return _literal([member.value for member in origin], origin)
    if is_named_tuple(origin):
        return _named_tuple(origin)
    record = _Record(origin)
    return Shape(record.write, record.read)


def _exactly(kind: type, *others: type) -> Shape:
    def check(value: Any, spec: Spec) -> Any:
        if type(value) is not kind and type(value) not in others:
            raise _misfit(kind.__name__, value)
        return value

    return Shape(check, check)


def _write_text(value: Any, spec: Spec) -> str:
    if not isinstance(value, str):
        raise _misfit("str", value)
    return str.__str__(value)  # of a subclass, the text alone


def _read_number(data: Any, spec: Spec) -> float:
    return float(_NUMBER.read(data, spec))


def _refusing(change: Callable[[Any, Spec], Any]) -> Callable[[Any, Spec], Any]:
    """What refuses a value elsewhere refuses it here, where its place is known."""

    def changed(value: Any, spec: Spec) -> Any:
        try:
            return change(value, spec)
        except (StateError, StoredDataError, UnstorableError) as error:
            raise RefusedError(error) from None

    return changed


def _write_open(value: Any, spec: Spec) -> dict[str, Any]:
    from detent.core.stored import to_json  # cattrs is only loaded when it is needed

    return dict(value) if _is_flat(value) else cast("dict[str, Any]", to_json(value, place="it"))


def _read_open(data: Any, spec: Spec) -> Any:
    from detent.core.stored import from_json  # as above

    if _is_flat(_object(data)):
        return FrozenDict(data)
    return freeze(_object(from_json(data, place="it")))


def _is_flat(value: Mapping[str, Any]) -> bool:
    """Whether it is plain JSON at first sight."""
    return TAG not in value and all(type(one) is str and one.isascii() for one in value.values())


def _write_state(value: Any, spec: Spec) -> dict[str, Any]:
    return cast("dict[str, Any]", value.to_dict())


def _read_state(data: Any, spec: Spec) -> Any:
    return None if spec is None else spec.state.restored(_object(data))


def _write_write(value: Any, spec: Spec) -> dict[str, Any]:
    if spec is None:
        raise RefusedError("without an agent a write cannot be stored")
    return write_to_json(spec, value)


def _read_write(data: Any, spec: Spec) -> Write:
    return Write("", None) if spec is None else write_from_json(spec, data)


def _misfit(wanted: str, value: object) -> RefusedError:
    return RefusedError(f"must be {wanted}, got {type(value).__name__}")


def _object(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise _misfit("an object", data)
    return cast("dict[str, Any]", data)


def _array(data: Any) -> list[Any]:
    if not isinstance(data, list):
        raise _misfit("an array", data)
    return data


def _each(
    change: Callable[[Any, Spec], Any], items: Iterable[tuple[str | int, Any]], spec: Spec
) -> list[Any]:
    """Every item changed; where one is refused, the error says which."""
    made: list[Any] = []
    place: str | int = 0
    try:
        for place, item in items:  # noqa: B007 - the error says where
            made.append(change(item, spec))
    except RefusedError as error:
        error.path.append(place)
        raise
    return made


def _literal(choices: Collection[str], make: Callable[[str], Any] = str) -> Shape:
    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise RefusedError(f"must be one of {', '.join(choices)}, got {str(value)[:40]!r}")
        return value

    return Shape(lambda value, _: str.__str__(check(value)), lambda data, _: make(check(data)))


def _tuple(item: Shape) -> Shape:
    return Shape(
        lambda value, spec: _each(item.write, enumerate(value), spec),
        lambda data, spec: tuple(_each(item.read, enumerate(_array(data)), spec)),
    )


def _mapping(item: Shape) -> Shape:
    def write(value: Any, spec: Spec) -> dict[str, Any]:
        return dict(zip(value, _each(item.write, value.items(), spec), strict=True))

    def read(data: Any, spec: Spec) -> FrozenDict[str, Any]:
        return FrozenDict(zip(data, _each(item.read, _object(data).items(), spec), strict=True))

    return Shape(write, read)


def _named_tuple(kind: Any) -> Shape:
    """As an array."""
    shapes = [shape_of(declared) for declared in get_type_hints(kind).values()]

    def read(data: Any, spec: Spec) -> Any:
        if len(_array(data)) != len(shapes):
            raise RefusedError(f"must be an array of {' and '.join(kind._fields)}")
        return kind(*(shape.read(one, spec) for shape, one in zip(shapes, data, strict=True)))

    return Shape(lambda value, _: list(value), read)


def _union(members: tuple[Any, ...]) -> Shape:
    """By the type of the JSON value; of several records, by the tag."""
    records = [one for one in members if has(one)]
    by_value = {get_origin(one) or one: shape_of(one) for one in members if one not in records}
    by_json = {list if kind is tuple else kind: shape for kind, shape in by_value.items()}
    if float in by_value:
        by_value[int] = by_json[int] = by_value[float]
    if records:
        by_json[dict] = shape_of(records[0]) if len(records) == 1 else _tagged(records)
        by_value |= dict.fromkeys(records, by_json[dict])

    def find(known: Mapping[type, Shape], value: Any) -> Shape:
        if (shape := known.get(type(value))) is not None:
            return shape
        for kind, shape in known.items():
            if isinstance(value, kind):
                return shape
        raise _misfit(" or ".join(JSON_NAMES.get(kind, kind.__name__) for kind in known), value)

    return Shape(
        lambda value, spec: find(by_value, value).write(value, spec),
        lambda data, spec: find(by_json, data).read(data, spec),
    )


def _tagged(records: Sequence[Any]) -> Shape:
    named = {one.__name__: shape_of(one) for one in records}

    def write(value: Any, spec: Spec) -> dict[str, Any]:
        name = type(value).__name__
        return {TAG: name, **named[name].write(value, spec)}

    def read(data: Any, spec: Spec) -> Any:
        rest = dict(data)
        tag = rest.pop(TAG, None) or rest.pop("is", None)
        shape = named.get(tag) if isinstance(tag, str) else None
        if shape is None:
            raise RefusedError(
                f"must have {TAG!r}, one of {', '.join(named)}, got {str(tag)[:40]!r}"
            )
        return shape.read(rest, spec)

    return Shape(write, read)


class _Record:
    """As an object, without the fields that have their default."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    @cached_property  # made when it is first used: a record may hold others of its kind
    def _parts(self) -> dict[str, tuple[Shape, object]]:
        hints = get_type_hints(self._kind)
        return {one.name: (shape_of(hints[one.name]), _default(one)) for one in fields(self._kind)}

    def write(self, value: Any, spec: Spec) -> dict[str, Any]:
        told: dict[str, Any] = {}
        name = ""
        try:
            for name, (shape, default) in self._parts.items():
                item = getattr(value, name)
                if default is NOTHING or item != default:
                    told[name] = shape.write(item, spec)
        except RefusedError as error:
            error.path.append(name)
            raise
        return told

    def read(self, data: Any, spec: Spec) -> Any:
        parts = self._parts
        given: dict[str, Any] = {}
        name = ""
        try:
            for name, item in _object(data).items():
                given[name] = parts[name][0].read(item, spec)
        except RefusedError as error:
            error.path.append(name)
            raise
        except KeyError:
            raise RefusedError(f"nothing is called {name[:40]!r}") from None
        for name, (_, default) in parts.items():
            if default is NOTHING and name not in given:
                raise RefusedError(f"{name!r} is missing")
        try:
            return self._kind(**given)
        except (TypeError, ValueError) as error:
            raise RefusedError(error) from None


def _default(one: Attribute[Any]) -> object:
    default: Any = one.default
    return default.factory() if hasattr(default, "factory") else default


JSON_NAMES: Mapping[type, str] = {dict: "an object", list: "an array", NoneType: "null"}
_NUMBER = _exactly(float, int)
OWN: Mapping[Any, Shape] = {
    str: Shape(_write_text, _exactly(str).read),
    int: _exactly(int),
    bool: _exactly(bool),
    NoneType: _exactly(NoneType),
    float: Shape(_NUMBER.write, _read_number),
    FrozenDict: Shape(_refusing(_write_open), _refusing(_read_open)),
    BaseState: Shape(_refusing(_write_state), _refusing(_read_state)),
    Write: Shape(_refusing(_write_write), _refusing(_read_write)),
}
"""What is not made up of its fields."""
