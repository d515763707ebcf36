"""What the parts of a JSON value are where somebody else makes members of sets and dicts of them.

Whoever reads a value by types of his own may make a number of a text, and a tuple of an array or of
an object, and put those into a set before anybody can look at their hashes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from ipaddress import IPv6Interface
from typing import Any, TypeAlias
from uuid import UUID

from attrs import define, field, frozen

Member: TypeAlias = tuple[Hashable, int]
"""What is put into a set, and how many levels of tuples it has."""

HEIGHT_MAX = 3
"""How many levels of tuples in tuples are looked at: each hash takes that of all below it."""

SHAPES_MAX = 3
"""So many classes may have made an object; of the others by whose names it fits, none is tried."""

LONGEST = 5_000
"""Longer texts are no numbers to Python, but for a Decimal: there is no room for many of those."""

READERS: tuple[tuple[re.Pattern[str], Callable[[str], Hashable]], ...] = (
    (re.compile(r"\s*[+-]?(\d[\d_]*(\.[\d_]*)?|\.\d[\d_]*)([eE][+-]?\d+)?\s*"), Decimal),
    (re.compile(r"\s*[+-]?\d+/\d+\s*"), Fraction),
    (re.compile(r"\s*\(?[-+.\deE_]+[jJ]\)?\s*"), complex),
    (re.compile(r"(urn:uuid:|\{)?[\da-fA-F-]{32,36}\}?"), UUID),
    (re.compile(r"[\da-fA-F]*:[\da-fA-F:.]+(/\d+)?"), IPv6Interface),
    (re.compile(r"[\da-fA-F]*:[\da-fA-F:.]+(/\d+)?"), lambda text: IPv6Interface(text).network),
)
"""The texts that may be read as what has a hash that is no text's; IPv4 has too few of them.

Equal numbers have equal hashes, whatever their types. Moments and spans of time have the hashes of
tuples that are too few for many to be alike.
"""


@frozen(eq=False)
class Shape:
    """The fields of a class in the order in which its hash is taken of them.

    Each has what stands for it where it is left out.
    """

    fields: Mapping[str, Member]
    required: frozenset[str]

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> Shape:
        """That of the class with this schema, of an object with properties."""
        parts = _Parts()
        named: Mapping[str, Any] = schema["properties"]
        fields = {name: parts.member(part.get("default")) for name, part in named.items()}
        return cls(fields, frozenset(schema.get("required", ())))


def hashed_parts(value: object, shapes: Sequence[Shape] = ()) -> list[Hashable]:
    """All members of sets and dicts that a JSON value may give, but for texts.

    It takes time linear in the value.

    Args:
        value: what is to be read.
        shapes: those of the objects that may become members.
    """
    parts = _Parts(shapes)
    parts.member(value)
    return parts.found


def without_minus_one(part: Hashable) -> Hashable:
    """The part with a text in place of each -1: to Python its hash is that of -2.

    So rows of both have one hash, as labels of two kinds and steps to and fro have.
    """
    if isinstance(part, tuple):
        return tuple(map(without_minus_one, part))
    return "-1" if part == -1 else part


@define(eq=False)
class _Parts:
    shapes: Sequence[Shape] = ()
    found: list[Hashable] = field(factory=list)
    _fitting: dict[tuple[str, ...], list[Shape]] = field(factory=dict)

    def member(self, value: object) -> Member:
        """What a value may be as a member of a set."""
        if isinstance(value, str):
            read = [*_read_from(value)]
            self.found += read
            return (read or [value])[0], 0
        if isinstance(value, dict):
            return self._record(value)
        if isinstance(value, list):
            return self._tuple(map(self.member, value))
        if type(value) in (int, float):
            self.found.append(value)
        return value, 0

    def _record(self, value: dict[str, Any]) -> Member:
        for name in value:
            self.found += _read_from(name)
        members = {name: self.member(part) for name, part in value.items()}
        shapes = self._shapes_with(tuple(value))
        made = [self._tuple({**shape.fields, **members}.values()) for shape in shapes]
        return made[0] if made else (None, 0)

    def _tuple(self, members: Iterable[Member]) -> Member:
        parts = [*members]
        height = 1 + max((below for _, below in parts), default=0)
        if height > HEIGHT_MAX:
            return None, height
        made = tuple(part for part, _ in parts)
        self.found.append(made)
        return made, height

    def _shapes_with(self, names: tuple[str, ...]) -> list[Shape]:
        """Those of the classes that may be made of an object with these names."""
        if names not in self._fitting:
            fitting = [x for x in self.shapes if x.fields.keys() >= {*names} >= x.required]
            self._fitting[names] = fitting[:SHAPES_MAX]
        return self._fitting[names]


def _read_from(text: str) -> Iterator[Hashable]:
    if len(text) <= LONGEST:
        for pattern, read in READERS:
            if pattern.fullmatch(text):
                with suppress(ValueError, ArithmeticError):  # more digits than it takes, or by 0
                    yield read(text)
