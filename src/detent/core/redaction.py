"""Redaction: what the state holds does not leave through the text of an error."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum

from detent.core.fields import field_names

SHORT = 4
"""A value with fewer characters is only taken out where it stands alone."""


def redacted(text: str, values: Mapping[str, object], *, known: str) -> str:
    """`text` with every one of `values`, and every part of one, replaced by its name.

    What the reader knows already, because it stands in `known`, stays.

    >>> redacted("no user 'Alice'", {"user_name": "Alice"}, known="")
    "no user '<user_name>'"
    """
    found = {part: name for name, value in values.items() for part in _parts(value)}
    for part in sorted(found, key=len, reverse=True):
        if part in text and part.strip() and not (pattern := _pattern(part)).search(known):
            text = f"<{found[part]}>".join(pattern.split(text))
    return text


def _pattern(part: str) -> re.Pattern[str]:
    literal = re.escape(part)
    return re.compile(literal if len(part) >= SHORT else rf"(?<!\w){literal}(?!\w)")


def _parts(value: object) -> Iterator[str]:
    """The texts by which a value can be recognised."""
    if isinstance(value, str):
        yield from (value, repr(value)[1:-1])
    elif isinstance(value, bytes):
        yield from (repr(value), repr(value)[2:-1])
    elif isinstance(value, Enum):
        yield from _parts(value.value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
    elif inside := _inside(value):
        for part in inside:
            yield from _parts(part)
    elif value is not None and not isinstance(value, bool):
        yield from (str(value), repr(value))


def _inside(value: object) -> Collection[object]:
    if isinstance(value, Mapping):
        return value.values()
    if names := field_names(type(value)):
        return [getattr(value, name) for name in names]
    return value if isinstance(value, Sequence | AbstractSet) else ()
