"""Redaction: what the state holds does not leave through the text of an error."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from inspect import isroutine
from typing import NamedTuple
from urllib.parse import quote, quote_plus

from detent.core.schema.record_fields import field_names

SHORT = 3
"""A text with fewer characters is only taken out where it stands alone."""

LONG = 24
"""Of a text with more characters its beginning and its end are taken out as well: texts are cut."""

ENCODINGS: tuple[Callable[[str], str], ...] = (
    str,
    lambda text: repr(text)[1:-1],
    lambda text: json.dumps(text)[1:-1],
    lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    lambda text: quote(text, errors="replace"),
    lambda text: quote(text, "", errors="replace"),
    lambda text: quote_plus(text, errors="replace"),
)
"""How a text stands in another: as it is, as Python or JSON writes it, in a URL."""


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
    kept = [span for part in set(_parts(known)) for span in _spans(part, text)]
    found = [
        (start, -end, name)
        for name, value in values.items()
        for part in set(_parts(value))
        for start, end in _spans(part, text)
        if not any(first <= start and end <= last for first, last in kept)
    ]
    pieces: list[str] = []
    at = 0
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
    if len(literal) <= LONG:
        if literal in text:
            for match in re.finditer(_pattern(part), text):
                yield match.start(), match.start() + len(literal)
        return
    for match in re.finditer(f"(?={re.escape(literal[:LONG])})", text):
        start = match.start()
        yield start, start + _shared(text[start:], literal)
    for match in re.finditer(f"(?={re.escape(literal[-LONG:])})", text):
        end = match.start() + LONG
        yield end - _shared(text[end - 1 :: -1], literal[::-1]), end


def _shared(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))


def _pattern(part: Part) -> str:
    literal = re.escape(part.text)
    if not part.is_apart and len(part.text) >= SHORT:
        return f"(?={literal})"
    return f"(?<!{_alike(part.text[0])})(?={literal}(?!{_alike(part.text[-1])}))"


def _alike(char: str) -> str:
    """A pattern for what makes one word, or one number, with a character."""
    return r"\d" if char.isdigit() else r"[^\W\d_]" if char.isalpha() else "(?!)"


def _parts(value: object, around: tuple[object, ...] = ()) -> Iterator[Part]:
    """The texts by which a value, which stands in those `around`, can be recognised."""
    if value is None or isinstance(value, bool) or any(value is one for one in around):
        return
    if isinstance(value, str) and not isinstance(value, Enum):
        if value.strip():
            yield from (Part(encode(value)) for encode in ENCODINGS)
    elif isinstance(value, int | float) and not isinstance(value, Enum):
        yield Part(str(value), is_apart=True)
    elif isinstance(value, bytes):
        yield from _parts(value.decode(errors="replace"))
        yield from map(Part, (repr(value)[2:-1], b64encode(value).decode()) if value else ())
    elif isinstance(value, Mapping | Sequence | AbstractSet) or field_names(type(value)):
        yield from (part for item in _inside(value) for part in _parts(item, (*around, value)))
    else:
        yield from map(Part, _said(value))
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


def _said(value: object) -> Iterator[str]:
    """How a value prints itself; it may fail to."""
    for say in (str, repr, lambda moment: moment.isoformat()):
        try:
            yield say(value)
        except Exception:  # noqa: BLE001, S112 - then no text has it either
            continue
