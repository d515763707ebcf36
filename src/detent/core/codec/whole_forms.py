"""Whole forms: plain JSON of all that a value is, for digests. None is stored, or shown to anybody.

What a class makes of a value leaves out what it likes: secrets, what is excluded, what is private,
the fields of a subclass. A tool gets them all, so what a human has approved is bound to them all.
"""

from __future__ import annotations

import dataclasses
import json
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cached_property, lru_cache
from inspect import getmodule
from numbers import Complex, Integral, Rational, Real
from operator import attrgetter
from pathlib import PureWindowsPath
from re import Pattern
from types import MappingProxyType, MemberDescriptorType
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from detent.core.codec.forms import is_storable, plain_type
from detent.core.codec.json_text import LEAST, MOST, NATIVE, TAG, is_plain
from detent.core.values.shared_list import SharedList

Write: TypeAlias = Callable[[Any], object]
FORMS = 2
"""Another number for other forms of the same values: what was bound by those of before is not."""


def _clock_parts(kind: Any) -> Write:
    """What a date and time, or a time, says: isoformat keeps the offset of a zone, and no fold.

    Two zones of one offset part on another day, and a day's arithmetic asks the zone itself.

    RULE: what stores give back is the same, or each question would be put twice. Of a zone that has
    one offset for ever they keep that, in whatever class, and it says all.
    """

    def parts(value: Any) -> object:
        more = () if _is_fixed(value.tzinfo) else (value.fold, value.tzinfo)
        return [kind.isoformat(value), *more]

    return parts


FIXED = frozenset(
    {
        ("datetime", "timezone"),
        ("pydantic_core._pydantic_core", "TzInfo"),
        ("dateutil.tz.tz", "tzutc"),
        ("dateutil.tz.tz", "tzoffset"),
    }
)
"""The modules and names of zones that have one offset for ever: others may say so, and have not."""


def _is_fixed(zone: tzinfo | None) -> bool:
    kind = type(zone)
    return (kind.__module__, kind.__qualname__) in FIXED


SCALARS: Mapping[type, Write] = {
    **{kind: _clock_parts(kind) for kind in (datetime, time)},
    date: date.isoformat,
    **{kind: kind.__str__ for kind in (str, timedelta, UUID, Decimal, Fraction)},
    **{kind: kind.__repr__ for kind in (complex, range, timezone)},
    **{kind: kind.hex for kind in (bytes, bytearray)},
    Integral: lambda value: hex(int(value)),  # Python prints no huge one in tens
    Rational: attrgetter("numerator", "denominator"),
    Real: lambda value: float(value).hex(),
    Complex: lambda value: repr(complex(value)),
    tzinfo: lambda value: getattr(value, "key", None),
    Pattern: attrgetter("pattern", "flags"),
}
"""What says all of a value without parts, in this order: a datetime is a date too.

They are those of the classes themselves: a subclass may print a mask.
"""

SAID_BY: Mapping[str, tuple[str, ...]] = {
    "ipaddress": ("__str__",),
    "pathlib": ("__fspath__",),
    "pydantic": ("get_secret_value", "unicode_string"),
    "pydantic_core": ("unicode_string",),
}
"""Methods that say all of a value, of classes of libraries that are not imported for it.

Of no others: what is called so may be the client of a vault.
"""

MAIN = frozenset({"__main__", "__mp_main__"})
"""What Python calls the module of a script, in its own process and in those that it begins."""

CONTAINERS = (dict, MappingProxyType, set, frozenset, list, tuple, deque, SharedList)
COUNTED = frozenset({"__pydantic_extra__", "__pydantic_private__"})
"""Of the attributes that Python and libraries keep for themselves, those that say something."""


def with_whole_form(data: object, value: object) -> object:
    """`data`, which stands for a value, and with it all of the value that it may leave out.

    It is alone where the value is plain JSON, which has no tag in it.
    """
    with suppress(RecursionError):
        if is_plain(value):
            return data
    return {TAG: "whole", "data": data, "value": whole_form(value)}


def whole_form(value: object) -> object:
    """Plain JSON of a value: another one for another class or another value in it, however deep.

    What cannot be told, a connection, say, is there by the name of its class.
    """
    try:
        return _Forms().form(value)
    except RecursionError:
        return [type(value).__qualname__]


def scalar_form(value: object) -> object:
    """The form of a value without parts: a date, an enum, a secret. None of any other."""
    return _Forms().scalar(value)


class _Forms:
    """The forms of one value and of all in it."""

    def __init__(self) -> None:
        # how deep each value stands that is being looked into, by its id: one may hold itself
        self._around: dict[int, int] = {}

    def form(self, value: Any) -> object:
        kind = type(value)
        if kind in NATIVE and (kind is not int or LEAST <= value <= MOST):
            return value
        if (deep := self._around.get(id(value))) is not None:
            return ["around", deep]
        self._around[id(value)] = len(self._around)
        try:
            scalar = self.scalar(value)  # which may be in what is kept in it, as zones of pytz are
            return self._with_parts(value) if scalar is None else scalar
        finally:
            del self._around[id(value)]

    def scalar(self, value: Any) -> object:
        if isinstance(value, type):
            return ["type", _name_of(value)]
        if isinstance(value, Enum):
            return self._named(value, [value.name, self.form(value.value)])
        kind: type = type(value)
        write = _writer(kind)
        return None if write is None else self._named(value, self.form(write(value)))

    def _with_parts(self, value: Any) -> object:
        if isinstance(value, OrderedDict):  # two are equal only in one order
            return self._named(
                value, [[self.form(key), self.form(item)] for key, item in value.items()]
            )
        if isinstance(value, defaultdict):
            return self._named(value, [self._pairs(value), self.form(value.default_factory)])
        if isinstance(value, deque):
            return self._named(value, [[self.form(item) for item in value], value.maxlen])
        if isinstance(value, dict | MappingProxyType):
            return self._named(value, self._pairs(value))
        if isinstance(value, set | frozenset):  # whose order is another one in every process
            return self._named(value, sorted(map(self.form, value), key=_text))
        if isinstance(value, list | tuple | SharedList):
            return self._named(value, [self.form(item) for item in value])
        kind: type = type(value)
        return self._named(value, None) if is_storable(kind) else [_name_of(kind)]

    def _pairs(self, value: Mapping[Any, Any]) -> object:
        if {str}.issuperset(map(type, value)):
            return {key: self.form(item) for key, item in value.items()}
        pairs = [[self.form(key), self.form(item)] for key, item in value.items()]
        return sorted(pairs, key=_text)

    def _named(self, value: object, content: object) -> list[object]:
        """A value by its class, with what it holds and what is kept in it by names."""
        attributes = {name: self.form(part) for name, part in attributes_of(value).items()}
        kind: type = plain_type(value)
        return [_name_of(kind), content, *([attributes] if attributes else [])]


@lru_cache(maxsize=1024)
def _name_of(kind: type) -> str:
    """What a class is called, with the last name of its module where it is somebody's own.

    RULE: never all of the module's name. A script is `__main__`, and another process imports it as
    `pay` or as `shop.pay`: a decision would count in none of the others.
    """
    if not _is_somebodys(kind):
        return kind.__qualname__
    name = str(kind.__module__)
    if name in MAIN and (file := getattr(getmodule(kind), "__file__", None)):
        name = PureWindowsPath(file).stem  # which knows both separators
    return f"{name.rpartition('.')[2]}.{kind.__qualname__}"


def _text(form: object) -> str:
    return json.dumps(form, sort_keys=True)


@lru_cache(maxsize=1024)
def _writer(kind: type) -> Write | None:
    for base, write in SCALARS.items():
        if issubclass(kind, base):
            return write
    for owner in kind.__mro__:
        for name in SAID_BY.get(str(owner.__module__).partition(".")[0], ()):
            if hasattr(owner, name):
                method: Write = getattr(owner, name)
                return method
    return None


def attributes_of(value: object) -> dict[str, object]:
    """What is kept in a value by a name: no code of its class is run for it."""
    kind: type = type(value)
    known = _members(kind)
    named = getattr(value, "__dict__", {}).items()
    own = {name: x for name, x in named if name not in known.computed and name[:2] != "__"}
    kept = {**known.defaults, **own}
    for name, slot in known.slots.items():
        with suppress(AttributeError):  # there is nothing in it
            kept[name] = slot.__get__(value)
    return kept


class _Members(NamedTuple):
    """What a class says of its attributes.

    `computed` are names of what it has made of the rest, `defaults` those of fields of a dataclass,
    of which an instance may have nothing. Slots of the classes that are written by a method, or
    item by item, are their own business: there are hashes in them, and caches.
    """

    computed: frozenset[str]
    slots: Mapping[str, MemberDescriptorType]
    defaults: Mapping[str, object]


def _is_somebodys(kind: type) -> bool:
    """Whether a class is not from where those are whose values are written by a method."""
    known = {*SAID_BY, *(base.__module__.partition(".")[0] for base in (*SCALARS, *CONTAINERS))}
    return str(kind.__module__).partition(".")[0] not in known


@lru_cache(maxsize=1024)
def _members(kind: type) -> _Members:
    computed, slots = {"_attrs_cached_hash"}, dict[str, MemberDescriptorType]()
    is_record = _writer(kind) is None and not issubclass(kind, (Enum, *CONTAINERS))
    for owner in kind.__mro__[::-1]:
        own = vars(owner)
        fields = own.get("__attrs_attrs__")  # attrs has slots for what is computed as well
        names = own if fields is None else {field.name for field in fields}
        for name, member in own.items():
            if isinstance(member, cached_property):
                computed.add(name)
            if not isinstance(member, MemberDescriptorType) or name not in names:
                continue
            is_said = name[:2] != "__" or name in COUNTED
            if is_said and (is_record or _is_somebodys(owner)):
                slots[name] = member
    declared = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    defaults = {field.name: field.default for field in declared}
    told = {name: part for name, part in defaults.items() if part is not dataclasses.MISSING}
    return _Members(frozenset(computed), slots, told)
