"""Redaction: what the state holds does not leave through the text of an error."""

from __future__ import annotations

import re
from base64 import b64encode
from bisect import bisect
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from inspect import isroutine
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

from detent.core.schema.record_fields import field_names

SHORT = 3
"""A text with fewer characters is only taken out where it stands alone."""

LONG = 24
"""Of a text with more characters its beginning and its end are taken out as well: texts are cut."""


class Part(NamedTuple):
    """A text by which a value can be recognised; `is_apart` if only where it stands alone."""

    text: str
    is_apart: bool = False


def redacted(text: str, values: Mapping[str, object], *, known: object) -> str:
    """`text` with every one of `values`, and every part of one, replaced by its name.

    What the reader knows already, because he wrote the whole of it in `known`, stays.

    >>> redacted("no user 'Alice'", {"user_name": "Alice"}, known={})
    "no user '<user_name>'"
    """
    kept = sorted(span for part in set(_parts(known)) for span in _spans(part, text))
    reach = list(accumulate((end for _, end in kept), max))
    found = [
        (start, -end, name)
        for name, value in values.items()
        for part in set(_parts(value))
        for start, end in _spans(part, text)
        if not (place := bisect(kept, start, key=itemgetter(0))) or reach[place - 1] < end
    ]
    pieces: list[str] = []
    at = 0
    # The longest of those that start together comes first, and all that overlap go as one: else
    # the end of a value would stay behind where another one begins in the middle of it.
    for start, end, name in sorted(found):
        if start >= at:
            pieces += (text[at:start], f"<{name}>")
        at = max(at, -end)
    return "".join((*pieces, text[at:]))


def without_secrets(text: str, arguments: Mapping[str, object], names: Collection[str]) -> str:
    """`text` without what a call has for the parameters `names`, which people may not see."""
    secrets = {name: arguments[name] for name in names if name in arguments}
    return redacted(text, secrets, known={}) if secrets else text


def _spans(part: Part, text: str) -> Iterator[tuple[int, int]]:
    """Where in `text` the part stands, from and to; of a long one, where any end of it stands."""
    literal = part.text
    if part.is_apart or len(literal) < SHORT:
        starts = (match.start() for match in re.finditer(_pattern(literal), text))
        yield from ((start, start + len(literal)) for start in starts)
        return
    yield from _beginnings(literal, text, min(LONG, len(literal)))
    if len(literal) > LONG and literal[-LONG:] in text:
        size, mirrored = len(text), _beginnings(literal[::-1], text[::-1], LONG)
        yield from ((size - end, size - start) for start, end in mirrored)


def _beginnings(literal: str, text: str, least: int) -> Iterator[tuple[int, int]]:
    """Where `text` has at least so many of the first characters of `literal`; what overlaps is one.

    Each place counts, as one in the middle may reach furthest. A text that repeats itself, as
    "aaaa", would take the square of its length; so this is the search of Knuth, Morris and Pratt,
    which goes on at the next place that can reach further, and compares no character again.
    """
    head, table = literal[:least], list[int]()
    begin = end = -1  # of all that overlap
    start, known = text.find(head), least
    while start >= 0:
        size = _shared(literal, text, start, known)
        if start >= end:
            if end >= 0:
                yield begin, end
            begin = start
        end = max(end, start + size)
        table = table or _borders(literal)
        known = table[size]
        start += size - known
        if known < least:
            start, known = text.find(head, start + known - least + 1), least
    if end >= 0:
        yield begin, end


def _borders(literal: str) -> list[int]:
    """How many of the first characters stand at the end of the first n, and go on in another way.

    Of the whole literal, how many: it goes on in no way. None are -1.
    """
    table, known = [-1] + [0] * len(literal), 0
    for place in range(1, len(literal)):
        char = literal[place]
        if char == literal[known]:
            table[place] = table[known]
        else:
            table[place] = known
            while known >= 0 and char != literal[known]:
                known = table[known]
        known += 1
    table[len(literal)] = known
    return table


def _shared(literal: str, text: str, start: int, size: int) -> int:
    """How many characters of `literal` stand at `start`, where `size` of them surely do."""
    step, grows = 1, True
    while step:
        part = literal[size : size + step]
        if len(part) == step and text.startswith(part, start + size):
            size += step
            step *= 2 if grows else 1
        else:
            step, grows = step // 2, False
    return size


def _pattern(literal: str) -> str:
    return f"(?<!{_alike(literal[0])})(?={re.escape(literal)}(?!{_alike(literal[-1])}))"


def _alike(char: str) -> str:
    """A pattern for what makes one word, or one number, with a character."""
    return r"\d" if char.isdigit() else r"[^\W\d_]" if char.isalpha() else "(?!)"


def _parts(value: object, around: tuple[object, ...] = ()) -> Iterator[Part]:
    """The texts by which a value, which stands in those `around`, can be recognised."""
    if value is None or isinstance(value, bool) or any(value is outer for outer in around):
        return
    if isinstance(value, str) and not isinstance(value, Enum):
        if value.strip():
            # as it is, and as Python and mostly JSON quote it
            yield from (Part(value), Part(repr(value)[1:-1]))
    elif isinstance(value, int | float) and not isinstance(value, Enum):
        yield Part(str(value), is_apart=True)
    elif isinstance(value, bytes):
        yield from _parts(value.decode(errors="replace"))
        yield from map(Part, (repr(value)[2:-1], b64encode(value).decode()) if value else ())
    elif isinstance(value, Mapping | Sequence | AbstractSet) or field_names(type(value)):
        yield from (part for item in _inside(value) for part in _parts(item, (*around, value)))
    else:
        yield from map(Part, _printed(value))
        yield from (part for item in _inside(value) for part in _parts(item, (*around, value)))


def _inside(value: object) -> Iterator[object]:
    """What a value is made of."""
    if isinstance(value, Mapping):
        yield from value
        yield from value.values()
    elif isinstance(value, Sequence | AbstractSet):
        yield from value
    elif names := field_names(type(value)):
        yield from (getattr(value, name) for name in names)
    elif isinstance(value, Enum):
        yield from (value.name, value.value)
    elif not isinstance(value, type) and not isroutine(value):
        yield from getattr(value, "__dict__", {}).values()
        slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
        yield from (getattr(value, name) for name in slots if hasattr(value, name))


def _printed(value: object) -> Iterator[str]:
    """How a value prints itself; it may fail to."""
    for form in (str, repr, lambda moment: moment.isoformat()):
        try:
            yield form(value)
        except Exception:  # noqa: BLE001, S112 - then no text has it either
            continue
