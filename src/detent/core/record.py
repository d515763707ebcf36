"""A record: one class of our own, field by field as a JSON object and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias, get_type_hints

from attrs import NOTHING, Attribute, fields

from detent.core.events import HappenedInside
from detent.core.run import Run
from detent.core.shapes import RefusedError, Shape, Spec, an_object
from detent.core.slots import Delegated
from detent.core.texts import TAG, quoted

ShapeOf: TypeAlias = Callable[[Any], Shape]
TAG_IN_1 = "is"
"""What the tag was in format 1."""


def record_of(kind: Any, shape_of: ShapeOf, *, tagged: bool) -> Record:
    """How values of an attrs class are written and read, given how those of other types are."""
    return (_Inner if kind in INNER else Record)(kind, shape_of, tagged=tagged)


class _Told(NamedTuple):
    """A field: what is written before it, unless it is `default`, and how it is written.

    `quick` writes what is of the class `plain`, and `write` all else.
    """

    lead: str
    default: object
    plain: type | None
    quick: Callable[[Any], str]
    write: Callable[[Any, Spec], str]


class _Part(NamedTuple):
    """A field: how it is read, unless it is of the class `plain`, and where it is put."""

    read: Callable[[Any, Spec], Any]
    plain: type | None
    put: Callable[[Any, Any], None]


class _Plan(NamedTuple):
    """What is done with the fields that are given, in order, and with those that are not."""

    given: tuple[_Part, ...]
    rest: tuple[tuple[Callable[[Any, Any], None], object], ...]


class Record:
    """An object without the fields that have their default; `tagged` where it says its kind."""

    def __init__(self, kind: Any, shape_of: ShapeOf, *, tagged: bool) -> None:
        self._kind = kind
        self._shape_of = shape_of
        self._tagged = tagged
        self._plans: dict[tuple[str, ...], _Plan] = {}

    @cached_property  # made when it is first used: a record may hold others of its kind
    def _fields(self) -> list[tuple[str, Shape, object]]:
        hints = get_type_hints(self._kind, localns={"Run": Run})
        stored = [one for one in fields(self._kind) if one.init]
        return [(one.name, self._shape_of(hints[one.name]), _default(one)) for one in stored]

    @cached_property
    def _told(self) -> tuple[Callable[[Any], tuple[object, ...]], tuple[_Told, ...]]:
        """What gives all fields at once. Behind them stands the class: of one it gives no tuple."""
        names = [name for name, _, _ in self._fields]
        told = (
            _Told(f',"{name}":', default, *QUICK.get(shape.plain, NOT_QUICK), shape.write)
            for name, shape, default in self._fields
        )
        return attrgetter(*names, "__class__", "__class__"), tuple(told)

    def write(self, value: Any, spec: Spec) -> str:
        """Field by field, into one text."""
        get, told = self._told
        text = f',"{TAG}":"{self._kind.__name__}"' if self._tagged else ""
        lead = ""
        try:
            for (lead, default, plain, quick, write), item in zip(told, get(value), strict=False):
                if default is NOTHING or (item is not default and item != default):
                    text += lead + (quick(item) if type(item) is plain else write(item, spec))
        except RefusedError as error:
            error.path.append(lead[2:-2])
            raise
        return f"{{{text[1:]}}}"

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
            parts[TAG] = parts[TAG_IN_1] = _Part(
                self._shape_of(str).read, str, lambda made, tag: None
            )
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


class _Inner(Record):
    """As a record that belongs to the agent in its `tool_name`, whose names mean what it says."""

    def write(self, value: Any, spec: Spec) -> str:
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
    default: Any = USUAL.get(one.name, NOTHING) if one.default is NOTHING else one.default
    return default.factory() if hasattr(default, "factory") else default


NOT_QUICK: tuple[type | None, Callable[[Any], str]] = (None, quoted)
QUICK: Mapping[type | None, tuple[type | None, Callable[[Any], str]]] = {
    str: (str, quoted),
    int: (int, repr),
}
"""How plain values are written without a look at their shape."""
USUAL: Mapping[str, object] = {"attempt": 1}
"""What fields hold most of the time; then they are left out as if it were their default."""
PLANS_MAX = 64
"""For each record; whoever writes the names in ever other orders is only slower."""
INNER = frozenset({Delegated, HappenedInside})
