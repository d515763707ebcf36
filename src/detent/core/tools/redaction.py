"""Redaction: what the state holds does not leave through the text of an error.

A text of a value is looked for as a whole, a long one by its pieces, as texts are cut: so many
characters of it in a row are taken out wherever they stand. No match is ever extended, so that the
time is linear in the text and in the values, however many these are and however they repeat
themselves.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from bisect import bisect
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from html import escape
from inspect import isroutine
from itertools import accumulate, islice
from string import ascii_lowercase, ascii_uppercase, punctuation, whitespace
from typing import NamedTuple, TypeAlias
from unicodedata import normalize
from urllib.parse import quote, quote_plus

from detent.core.schema.record_fields import field_names

SHORT = 3
"""A text with fewer characters is only taken out where it stands alone."""

LONG = 24
"""Of a text with more characters pieces of so many are taken out: fewer are anybody's words."""

SECRET = 8
"""The same of a secret."""

MANY = 32
"""So many texts of one size are looked for one by one."""

MOST = 10_000
"""A text in which values stand at more places says nothing to anybody without them."""

CHUNK = 16_384
"""So many places are looked at before another thread has its turn."""

FEW = 64
"""So many blocks of a text are looked for one by one."""

SIGNS = punctuation + whitespace
"""What makes no longer word with anything around it."""

STRETCH = re.compile(r"[\s\S]{1,255}(?=[ -~]|\Z)|[\s\S]{1,256}")
"""So much is brought into a normal form at once, if possible up to where a character begins: that
takes the square of how many marks stand in a row."""

BETWEEN = "\x1f"
"""Stands between texts that are looked through together: ASCII has it for that, and no word."""

TOKEN = re.compile(r"\d+|[^\W\d_]+|.", re.DOTALL)
"""A number, a word, or a sign: what stands alone is made of whole ones."""

ALIKE = str.maketrans(ascii_uppercase, ascii_lowercase)
"""A secret is one in small letters, too."""

Span: TypeAlias = tuple[int, int, str]
"""From, to, and the name of the value that stands there."""


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
    kept = sorted(_found(_named({"": known}), text, LONG))
    return _without(text, _unknown(_found(_named(values), text, LONG), kept))


def without_secrets(text: str, arguments: Mapping[str, object], names: Collection[str]) -> str:
    """`text` without what a call has for the parameters `names`, which people may not see."""
    secrets = {name: arguments[name] for name in names if name in arguments}
    if not secrets:
        return text
    parts: dict[Part, str] = {}
    for part, name in _named(secrets).items():
        for other in (part.text,) if part.is_apart else _disguised(part.text):
            parts.setdefault(Part(other.translate(ALIKE), part.is_apart), name)
    return _without(text, _found(parts, text.translate(ALIKE), SECRET))


def all_without_secrets(
    texts: Sequence[str], arguments: Mapping[str, object], names: Collection[str]
) -> list[str]:
    """As `without_secrets`, many texts in one go: what is to be looked for is made but once."""
    return without_secrets(BETWEEN.join(texts), arguments, names).split(BETWEEN) if texts else []


def _without(text: str, spans: Iterable[Span]) -> str:
    """The text with names in place of what stands at `spans`."""
    pieces: list[str] = []
    at, found = 0, list(islice(spans, MOST + 1))
    if len(found) > MOST:
        names = ", ".join(f"<{name}>" for name in dict.fromkeys(name for _, _, name in found))
        return f"(withheld: {names} in more than {MOST} places)"
    # The longest of those that start together comes first, and all that overlap go as one: else
    # the end of a value would stay behind where another one begins in the middle of it.
    for start, end, name in sorted(found, key=_first_and_longest):
        if start >= at:
            pieces += (text[at:start], f"<{name}>")
        at = max(at, end)
    return "".join((*pieces, text[at:]))


def _first_and_longest(span: Span) -> tuple[int, int]:
    return span[0], -span[1]


def _named(values: Mapping[str, object]) -> dict[Part, str]:
    """The parts of values, each with the name of the first that has it."""
    parts: dict[Part, str] = {}
    for name, value in values.items():
        for part in _parts(value):
            parts.setdefault(part, name)
    return parts


def _found(parts: Mapping[Part, str], text: str, most: int) -> Iterator[Span]:
    """Where parts stand in a text; those with more than `most` characters by such pieces."""
    alone, anywhere, long = dict[str, str](), dict[str, str](), dict[str, str]()
    for (literal, is_apart), name in parts.items():
        if not literal:
            continue
        is_word = len(literal) < SHORT and literal.strip(SIGNS)
        by_text = alone if is_apart or is_word else anywhere if len(literal) <= most else long
        by_text.setdefault(literal, name)
    yield from _alone(alone, text)
    yield from _whole(anywhere, text)
    yield from _pieces(long, text, most)


def _alone(texts: Mapping[str, str], text: str) -> Iterator[Span]:
    """Where each of `texts` makes no longer word, and no longer number, with what is around it.

    There are as many passes as they have numbers of tokens, which in a number are seven at most.
    """
    tokens = TOKEN.findall(text) if texts else []
    there = set(tokens)
    by_count: dict[int, dict[tuple[str, ...], str]] = {}
    for literal, name in texts.items():
        parts = tuple(TOKEN.findall(literal))
        if there.issuperset(parts):
            by_count.setdefault(len(parts), {})[parts] = name
    starts = list(accumulate(map(len, tokens), initial=0)) if by_count else []
    for count, wanted in by_count.items():
        windows = zip(*(islice(tokens, first, None) for first in range(count)), strict=False)
        for run in re.finditer(b"\1", _marked(map(wanted.__contains__, windows))):
            place, end = run.start(), run.start() + count
            yield starts[place], starts[end], wanted[tuple(tokens[place:end])]


def _whole(texts: Mapping[str, str], text: str) -> Iterator[Span]:
    """Where each of `texts` stands, with its name; what overlaps itself is one span."""
    by_size: dict[int, dict[str, str]] = {}
    for literal, name in texts.items():
        by_size.setdefault(len(literal), {})[literal] = name
    for size, wanted in by_size.items():
        if len(wanted) > MANY:
            yield from _at(wanted, text, size)
            continue
        for literal, name in wanted.items():
            start = text.find(literal)
            while start >= 0:
                last = start
                while (further := text.rfind(literal, last + 1, last + 2 * size - 1)) >= 0:
                    last = further
                yield start, last + size, name
                start = text.find(literal, last + size)


def _pieces(texts: Mapping[str, str], text: str, size: int) -> Iterator[Span]:
    """Where `size` characters in a row are those of one of `texts`; each with its name.

    In them is one of the blocks of half the size that the text is made of: what has none of these
    is passed over. Only the pieces of the shorter of both are kept.
    """
    half = size // 2
    blocks = {text[at : at + half] for at in range(0, len(text) - half + 1, half)}
    near = {literal: name for literal, name in texts.items() if _has_one(literal, blocks, half)}
    ours = set(_windows(text, size)) if sum(map(len, near)) > len(text) else None
    wanted: dict[str, str] = {}
    for literal, name in near.items():
        pieces = _windows(literal, size)
        common = pieces if ours is None else filter(ours.__contains__, pieces)
        wanted |= dict.fromkeys(common, name)
    return _at(wanted, text, size)


def _has_one(literal: str, blocks: Collection[str], size: int) -> bool:
    """Whether one of the blocks, of this size, stands in a text."""
    if len(blocks) <= FEW:
        return any(block in literal for block in blocks)
    return any(map(blocks.__contains__, _windows(literal, size)))


def _windows(text: str, size: int) -> Iterator[str]:
    """What stands in so many characters in a row, from left to right."""
    starts, ends = range(len(text) - size + 1), range(size, len(text) + 1)
    return map(text.__getitem__, map(slice, starts, ends))


def _at(wanted: Mapping[str, str], text: str, size: int) -> Iterator[Span]:
    """Where one of the texts stands that are wanted, all of one size; what overlaps is one span."""
    if not wanted:
        return
    begins = _marked(map(wanted.__contains__, _windows(text, size)))
    for run in re.finditer(b"\1(?:\0{0,%d}\1)*+" % max(size - 2, 0), begins):
        start = run.start()
        yield start, run.end() - 1 + size, wanted[text[start : start + size]]


def _marked(are_there: Iterator[bool]) -> bytes:
    """For each place 1 or 0."""
    # in one go it would be one call of C, which no other thread can interrupt
    return b"".join(iter(lambda: bytes(islice(are_there, CHUNK)), b""))


def _unknown(spans: Iterable[Span], kept: Sequence[Span]) -> Iterable[Span]:
    """Those that do not stand within a text that the reader knows."""
    if not kept:
        return spans
    starts, reach = [one[0] for one in kept], list(accumulate((one[1] for one in kept), max))
    return (
        span
        for span in spans
        if not (place := bisect(starts, span[0])) or reach[place - 1] < span[1]
    )


def _disguised(text: str) -> Iterator[str]:
    """A secret in the forms in which others may repeat it."""
    data = text.encode(errors="replace")
    yield from (text, text.strip(), escape(text), data.hex(), repr(data)[2:-1])
    for form in ("NFC", "NFD"):
        yield "".join(normalize(form, piece) for piece in STRETCH.findall(text))
    for shift, cut in enumerate((0, 2, 3)):  # behind a name, as in "Basic", all are others
        encoded = b64encode(bytes(shift) + data).decode().rstrip("=")
        if len(encoded) > SECRET:
            yield encoded[cut : len(encoded) - bool((shift + len(data)) % 3)]


def _parts(value: object, around: tuple[object, ...] = ()) -> Iterator[Part]:
    """The texts by which a value, which stands in those `around`, can be recognised."""
    if value is None or isinstance(value, bool) or any(value is outer for outer in around):
        return
    if isinstance(value, str) and not isinstance(value, Enum):
        if value.strip():
            # as it is, and as Python, JSON and URLs have it
            yield from (Part(value), Part(repr(value)[1:-1]), Part(json.dumps(value)[1:-1]))
            yield Part(json.dumps(value, ensure_ascii=False)[1:-1])
            yield from (Part(quote(value, safe, errors="replace")) for safe in ("", "/"))
            yield Part(quote_plus(value, errors="replace"))
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
