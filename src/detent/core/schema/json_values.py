"""JSON values: their types, when two are equal, how a sentence repeats one or a way into it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from types import NoneType
from typing import Any, Literal, TypeAlias

from attrs import define, field

JsonType: TypeAlias = Literal["string", "integer", "number", "boolean", "null", "array", "object"]

Place: TypeAlias = tuple[str | int, ...]
"""The way to a part of a value."""

CLASSES: Mapping[JsonType, type | tuple[type, ...]] = {
    "string": str,
    "integer": (int, float),
    "number": (int, float),
    "boolean": bool,
    "null": NoneType,
    "array": list,
    "object": dict,
}

SHORT_MAX = 60
"""How many characters of a wrong value a sentence repeats."""


def is_a(value: object, kind: JsonType) -> bool:
    """Whether a value has the JSON type: 1.0 is an integer, true is no number, NaN is nothing."""
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, float):
        whole = kind == "integer" and value.is_integer()
        return isfinite(value) and (kind == "number" or whole)
    return isinstance(value, CLASSES[kind])


def identity(value: object) -> object:
    """What two JSON values share exactly when they are equal as JSON: 1 and 1.0, not 1 and true."""
    if isinstance(value, bool):  # which Python takes for 0 and 1, also as keys of a dict
        return ("boolean", value)
    if isinstance(value, dict):
        return ("object", frozenset((name, identity(item)) for name, item in value.items()))
    if isinstance(value, list):
        return ("array", tuple(map(identity, value)))
    return value


def numbers_in(value: object) -> Iterator[int | float]:
    """The numbers in a JSON value, however deep."""
    level = [value]
    while level:
        item = level.pop()
        if isinstance(item, dict):
            level += item.values()
        elif isinstance(item, list):
            level += item
        elif isinstance(item, int | float) and not isinstance(item, bool):
            yield item


@define(eq=False)
class Codes:
    """Numbers that two JSON values share exactly when they are equal as JSON.

    Each part is looked at once, however many values it stands in: keep them, they go by identity.
    """

    _parts: dict[int, int] = field(init=False, factory=dict)
    _numbers: dict[object, int] = field(init=False, factory=dict)

    def of(self, value: Any) -> int:
        """The number of a value."""
        if not isinstance(value, dict | list | tuple):
            return self._number(_name_of(value))
        if id(value) not in self._parts:
            if isinstance(value, dict):
                parts = frozenset([(name, self.of(part)) for name, part in value.items()])
                self._parts[id(value)] = self._number(parts)
            else:
                self._parts[id(value)] = self._number(tuple(map(self.of, value)))
        return self._parts[id(value)]

    def _number(self, key: object) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def unlike(self, values: Sequence[Any], place: Place) -> Iterator[Place]:
        """Where not all of several values are the same."""
        if len({*map(self.of, values)}) <= 1:
            return
        kinds = {type(value) for value in values}
        if kinds not in ({dict}, {list}):
            yield place
            return
        parts: dict[str | int, list[Any]] = {}
        for value in values:
            for name, part in value.items() if kinds == {dict} else enumerate(value):
                parts.setdefault(name, []).append(part)
        for name, found in parts.items():
            if len(found) < len(values):
                yield (*place, name)
            else:
                yield from self.unlike(found, (*place, name))


def _name_of(scalar: object) -> object:
    """What stands for a scalar: of a number a text, as whoever writes it can choose its hash."""
    if isinstance(scalar, str | bool) or not isinstance(scalar, int | float):
        return ("", identity(scalar))
    is_whole = isinstance(scalar, int) or scalar.is_integer()
    return f"{int(scalar):x}" if is_whole else repr(scalar)


def path_text(path: Iterable[str | int]) -> str:
    """The way to a part of a value as a sentence has it: ``a.b[0]``."""
    return "".join(f"[{x}]" if isinstance(x, int) else f".{x}" for x in path).removeprefix(".")


def short_json(value: object) -> str:
    """A value as a sentence repeats it: as JSON, shortened."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHORT_MAX else f"{text[:SHORT_MAX]}…"
