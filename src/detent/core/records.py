"""Our own values as plain JSON and back: runs, events, messages, by the types of their fields.

A new event, status or part of a message needs no line here. In a union each object says its kind
by a fixed tag. Nothing that is stored can name a class, a function or a module of its own, and what
does not fit exactly is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from enum import Enum
from functools import cache, cached_property, partial
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from attrs import NOTHING, Attribute, fields, has

from detent.core.errors import StoredDataError, UnstorableError
from detent.core.events import HappenedInside
from detent.core.fields import is_named_tuple
from detent.core.forms import is_native
from detent.core.frozen import FrozenDict, freeze
from detent.core.keys import Write
from detent.core.run import Run
from detent.core.shapes import (
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
from detent.core.slots import Delegated
from detent.core.state import BaseState
from detent.core.writes import write_from_json, write_to_json

T = TypeVar("T")

TAG = "$type"
"""The entry that says which member of a union an object is."""
TAG_IN_1 = "is"
"""What it was in format 1."""


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
    record = _Record(origin, tagged=False)
    return Shape(record.write, record.read)


def _write_text(value: Any, spec: Spec) -> str:
    if not isinstance(value, str):
        raise misfit("str", value)
    return str.__str__(value)  # of a subclass, the text alone


def _read_number(data: Any, spec: Spec) -> float:
    try:
        return float(_NUMBER.read(data, spec))
    except OverflowError as error:
        raise RefusedError(error) from None


def _write_open(value: Any, spec: Spec) -> dict[str, Any]:
    if _is_flat(value) and all(map(is_native, (*value, *value.values()))):
        return dict(value)
    return cast("dict[str, Any]", _write_any(value, spec))


def _read_open(data: Any, spec: Spec) -> Any:
    if _is_flat(an_object(data)):
        return FrozenDict(data)
    return freeze(an_object(_read_any(data, spec)))


@refusing
def _write_any(value: Any, spec: Spec) -> Any:
    from detent.core.stored import to_json  # cattrs is only loaded when it is needed

    return to_json(value, place="it")


@refusing
def _read_any(data: Any, spec: Spec) -> Any:
    from detent.core.stored import from_json  # as above

    return from_json(data, place="it")


def _is_flat(value: Mapping[str, Any]) -> bool:
    """Whether it is plain JSON at first sight."""
    return TAG not in value and FLAT.issuperset(map(type, value.values()))


@refusing
def _write_state(value: Any, spec: Spec) -> dict[str, Any]:
    return cast("dict[str, Any]", value.to_dict())


@refusing
def _read_state(data: Any, spec: Spec) -> Any:
    return None if spec is None else spec.state.restored(an_object(data))


@refusing
def _write_write(value: Any, spec: Spec) -> dict[str, Any]:
    if spec is None:
        raise RefusedError("without an agent a write cannot be stored")
    return write_to_json(spec, value)


@refusing
def _read_write(data: Any, spec: Spec) -> Write:
    return Write("", None) if spec is None else write_from_json(spec, data)


def _named_tuple(kind: Any) -> Shape:
    """As an array."""
    shapes = [shape_of(declared) for declared in get_type_hints(kind).values()]

    def read(data: Any, spec: Spec) -> Any:
        if len(an_array(data)) != len(shapes):
            raise RefusedError(f"must be an array of {' and '.join(kind._fields)}")
        return kind(*(shape.read(one, spec) for shape, one in zip(shapes, data, strict=True)))

    return Shape(lambda value, _: list(value), read)


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

    def write(value: Any, spec: Spec) -> Any:
        return (by_value.get(type(value)) or find(by_value, value)).write(value, spec)

    def read(data: Any, spec: Spec) -> Any:
        return (by_json.get(type(data)) or find(by_json, data)).read(data, spec)

    return Shape(write, read, by_json[str].plain if str in by_json else None)


def _tagged(records: Sequence[Any]) -> Shape:
    named = {
        one.__name__: (_Inner if one in INNER else _Record)(one, tagged=True) for one in records
    }

    def write(value: Any, spec: Spec) -> dict[str, Any]:
        record = named.get(type(value).__name__)
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
    tag = an_object(data).get(TAG, data.get(TAG_IN_1))
    if not isinstance(tag, str) or tag not in named:
        told = f"must have {TAG!r}, one of {', '.join(named)}"
        raise RefusedError(f"{told}, got {str(tag)[:40]!r}")
    return tag


class _Part(NamedTuple):
    """A field: how it is read, unless it is of the class `plain`, and where it is put."""

    read: Callable[[Any, Spec], Any]
    plain: type | None
    put: Callable[[Any, Any], None]


class _Plan(NamedTuple):
    """What is done with the fields that are given, in order, and with those that are not."""

    given: tuple[_Part, ...]
    rest: tuple[tuple[Callable[[Any, Any], None], object], ...]


class _Record:
    """As an object, without the fields that have their default; `tagged` where it says its kind."""

    def __init__(self, kind: Any, *, tagged: bool) -> None:
        self._kind = kind
        self._tagged = tagged
        self._plans: dict[tuple[str, ...], _Plan] = {}

    @cached_property  # made when it is first used: a record may hold others of its kind
    def _fields(self) -> list[tuple[str, Shape, object]]:
        hints = get_type_hints(self._kind, localns={"Run": Run})
        stored = [one for one in fields(self._kind) if one.init]
        return [(one.name, shape_of(hints[one.name]), _default(one)) for one in stored]

    def write(self, value: Any, spec: Spec) -> dict[str, Any]:
        told: dict[str, Any] = {TAG: self._kind.__name__} if self._tagged else {}
        name = ""
        try:
            for name, shape, default in self._fields:
                item = getattr(value, name)
                if default is NOTHING or item != default:
                    told[name] = shape.write(item, spec)
        except RefusedError as error:
            error.path.append(name)
            raise
        return told

    def read(self, data: Any, spec: Spec) -> Any:
        """Field by field, past the constructor: what comes of a part needs no converter."""
        names = (*(data if type(data) is dict else an_object(data)),)
        given, rest = self._plans.get(names) or self._plan(names)
        made = object.__new__(self._kind)
        try:
            for (read, plain, put), item in zip(given, data.values(), strict=True):
                put(made, item if type(item) is plain else read(item, spec))
        except RefusedError as error:
            unset = (name for name in names if not hasattr(made, name))
            error.path.append(next(name for name in unset if name not in (TAG, TAG_IN_1)))
            raise
        for put, default in rest:
            put(made, default)
        return made

    def _plan(self, names: tuple[str, ...]) -> _Plan:
        """The plan for data with these names. It is kept: most data have the same ones."""
        parts = {name: self._part(name, shape) for name, shape, _ in self._fields}
        if self._tagged:
            parts[TAG] = parts[TAG_IN_1] = _Part(shape_of(str).read, str, lambda made, tag: None)
        for name in names:
            if name not in parts:
                raise RefusedError(f"nothing is called {name[:40]!r}")
        missing = [(name, default) for name, _, default in self._fields if name not in names]
        for name, default in missing:
            if default is NOTHING:
                raise RefusedError(f"{name!r} is missing")
        passing = [(one.name, _default(one)) for one in fields(self._kind) if not one.init]
        rest = tuple((self._put(name), default) for name, default in (*missing, *passing))
        plan = _Plan(tuple(parts[name] for name in names), rest)
        if len(self._plans) < PLANS_MAX:
            self._plans[names] = plan
        return plan

    def _part(self, name: str, shape: Shape) -> _Part:
        return _Part(shape.read, shape.plain, self._put(name))

    def _put(self, name: str) -> Callable[[Any, Any], None]:
        slot = getattr(self._kind, name, None)
        put: Callable[[Any, Any], None] = (
            partial(_put_by_name, name) if slot is None else slot.__set__
        )
        return put


class _Inner(_Record):
    """As a record that belongs to the agent in its `tool_name`, whose names mean what it says."""

    def write(self, value: Any, spec: Spec) -> dict[str, Any]:
        return super().write(value, self._agent(spec, value.tool_name))

    def read(self, data: Any, spec: Spec) -> Any:
        return super().read(data, self._agent(spec, str(an_object(data).get("tool_name"))))

    def _agent(self, spec: Spec, name: str) -> Spec:
        if spec is not None and name not in spec.agents:
            raise RefusedError(f"this agent has no agent {name!r}; it has {sorted(spec.agents)}")
        return spec and spec.agents[name]


def _put_by_name(name: str, made: Any, value: object) -> None:
    """For a class without slots."""
    object.__setattr__(made, name, value)


def _default(one: Attribute[Any]) -> object:
    default: Any = one.default
    return default.factory() if hasattr(default, "factory") else default


PLANS_MAX = 64
"""For each record; whoever writes the names in ever other orders is only slower."""
INNER = frozenset({Delegated, HappenedInside})
FLAT: frozenset[type] = frozenset({str, bool, int, float, NoneType})
JSON_NAMES: Mapping[type, str] = {dict: "an object", list: "an array", NoneType: "null"}
_NUMBER = exactly(float, int)
OWN: Mapping[Any, Shape] = {
    str: Shape(_write_text, exactly(str).read, str),
    int: exactly(int),
    bool: exactly(bool),
    NoneType: exactly(NoneType),
    float: Shape(_NUMBER.write, _read_number),
    FrozenDict: Shape(_write_open, _read_open),
    BaseState: Shape(_write_state, _read_state),
    Write: Shape(_write_write, _read_write),
}
"""What is not made up of its fields."""
