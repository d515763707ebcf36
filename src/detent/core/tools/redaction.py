"""Redaction: what the state holds does not leave through the text of an error.

A text of a value is looked for as a whole, a long one by its pieces, as texts are cut: so many
characters of it in a row are taken out wherever they stand. No match is ever extended, so that the
time is linear in the values, however many these are and however they repeat themselves; and a text
is read no further than anybody wants to read an error.
"""

from __future__ import annotations

import json
import re
from base64 import b32encode, b64encode
from bisect import bisect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from decimal import Decimal
from enum import Enum
from html import escape
from inspect import isroutine
from itertools import accumulate, islice
from string import ascii_lowercase, ascii_uppercase, punctuation, whitespace
from typing import Any, NamedTuple, TypeAlias
from unicodedata import normalize
from urllib.parse import quote, quote_plus

from detent.core.schema.record_fields import field_names

READ = 32_768
"""So many characters of a text are read."""

TOLD = 28_000
"""So many are told: what the end of the first has cut in two begins after these."""

SHORT = 3
"""A text with fewer characters is only taken out where it stands alone."""

LONG = 24
"""Of a text with more characters pieces of so many are taken out: fewer are anybody's words."""

SECRET = 8
"""The same of a secret."""

A_PAGE = 4096
"""A text with more characters stands in no address."""

MOST = 65_536
"""Secrets with more characters are not looked for: nothing is told of what may have them."""

ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be")
"""In these a secret is looked for in the bytes of a file."""

SIGNS = punctuation + whitespace
"""What makes no longer word with anything around it."""

STRETCH = re.compile(r"[\s\S]{1,255}(?=[ -~]|\Z)|[\s\S]{1,256}")
"""So much is brought into a normal form at once, if possible up to where a character begins: that
takes the square of how many marks stand in a row."""

BETWEEN = "\x1f"
"""Stands between texts that are looked through together: ASCII has it for that, and no word."""

TOKEN = re.compile(r"\d+|[^\W\d_]+|.", re.DOTALL)
"""A number, a word, or a sign: what stands alone is made of whole ones."""

THOUSANDS = ("", ",", "'", "_", "\xa0", "\u202f")
"""What may stand between the thousands of a number; a blank stands between two as well."""

APART = frozenset(THOUSANDS[1:])
"""The signs among these."""

TINY, A_QUADRILLION = Decimal("1e-15"), 10**15
"""Numbers that are smaller, or larger, are written in one way."""

ALIKE = str.maketrans(ascii_uppercase, ascii_lowercase)
"""A secret is one in small letters, too."""

Span: TypeAlias = tuple[int, int, str]
"""From, to, and the name of the value that stands there."""


class Part(NamedTuple):
    """A text by which a value can be recognised; `is_apart` if only where it stands alone."""

    text: str
    is_apart: bool = False


def redact(text: str, values: Mapping[str, object], *, known: object) -> str:
    """`text` with every one of `values`, and every part of one, replaced by its name.

    What the reader knows already, because he wrote the whole of it in `known`, stays.

    >>> redact("no user 'Alice'", {"user_name": "Alice"}, known={})
    "no user '<user_name>'"
    """
    head = text[:READ]
    spans = sorted(_find(_parts_by_name({"": known}), head))
    starts, reach = [span[0] for span in spans], list(accumulate((span[1] for span in spans), max))
    return _without(
        text,
        (
            span
            for span in _find(_parts_by_name(values), head)
            if not (place := bisect(starts, span[0])) or reach[place - 1] < span[1]
        ),
    )


class Secrets:
    """What a call has for the parameters `names`, which people may not see: read but once."""

    def __init__(self, arguments: Mapping[str, object], names: Collection[str]) -> None:
        self._values = {name: arguments[name] for name in names if name in arguments}
        self._plain = _parts_by_name(self._values)
        self._parts = dict[Part, str]()
        self._are_long = sum(len(part.text) for part in self._plain) > MOST
        for part, name in () if self._are_long else self._plain.items():
            for form in (part.text,) if part.is_apart else _disguises(part.text):
                self._parts.setdefault(Part(form.translate(ALIKE), part.is_apart), name)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._values)

    def __str__(self) -> str:
        return ", ".join(f"<{name}>" for name in self._values)

    def without(self, text: str) -> str:
        """A text with names in their place."""
        if not self:
            return text
        if self._are_long:
            return f"(withheld: it may say {self})"
        return _without(text, _find(self._parts, text[:READ].translate(ALIKE), SECRET))

    def without_in(self, value: Any) -> Any:
        """A value with names in their place, in texts however deep, and where a number is one."""
        if isinstance(value, str) and not isinstance(value, Enum):
            return self.without(value)
        if isinstance(value, Mapping):
            return {self.without_in(key): self.without_in(item) for key, item in value.items()}
        if isinstance(value, list) or type(value) is tuple:
            return [self.without_in(item) for item in value]
        for part in _parts(value):
            if (visible := self.without(part.text)) != part.text:
                return visible
        return value

    def are_in(self, data: bytes) -> bool:
        """Whether one of them can be read in data: in the head of a text as `without` finds it.

        Anywhere else they are looked for as they are, so that a large file takes no long time.
        """
        if not self or self._are_long:
            return bool(self)
        with suppress(UnicodeDecodeError):
            head = data.decode()[:READ]
            if self.without(head) != head:
                return True
        alike = data.lower()
        for part in self._plain:
            for encoding in ENCODINGS if len(part.text) > SHORT else ():
                form = part.text.encode(encoding, errors="replace").lower()
                if form in alike and (not part.is_apart or _is_apart(form, alike)):
                    return True
        return False


def without_secrets(text: str, arguments: Mapping[str, object], names: Collection[str]) -> str:
    """`text` without what a call has for the parameters `names`, which people may not see."""
    return Secrets(arguments, names).without(text)


def all_without_secrets(
    texts: Sequence[str], arguments: Mapping[str, object], names: Collection[str]
) -> list[str]:
    """As `without_secrets`, many texts in one go: what is to be looked for is made but once."""
    return without_secrets(BETWEEN.join(texts), arguments, names).split(BETWEEN) if texts else []


def _without(text: str, spans: Iterator[Span]) -> str:
    """The text with names in place of what stands at `spans`, and no longer than is told."""
    most = len(text) if len(text) <= READ else TOLD
    pieces: list[str] = []
    place = 0
    # The longest of those that start together comes first, and all that overlap go as one: else
    # the end of a value would stay behind where another one begins in the middle of it.
    spans = (span for span in spans if span[0] < most)
    for start, end, name in sorted(spans, key=_first_and_longest):
        if place <= start:
            pieces += (text[place:start], f"<{name}>")
        place = max(place, end)
    rest = len(text) - most
    return "".join((*pieces, text[place:most], f"… ({rest} more characters)" if rest else ""))


def _is_apart(form: bytes, data: bytes) -> bool:
    """Whether a form stands somewhere in data with no digit and no letter around it."""
    return re.search(rb"(?<![0-9a-z])" + re.escape(form) + rb"(?![0-9a-z])", data) is not None


def _first_and_longest(span: Span) -> tuple[int, int]:
    return span[0], -span[1]


def _parts_by_name(values: Mapping[str, object]) -> dict[Part, str]:
    """The parts of values, each with the name of the first that has it."""
    parts: dict[Part, str] = {}
    for name, value in values.items():
        for part in _parts(value):
            parts.setdefault(part, name)
    return parts


def _find(parts: Mapping[Part, str], text: str, piece: int = LONG) -> Iterator[Span]:
    """Where parts stand in a text; those that are longer than a piece by pieces."""
    tokens: dict[tuple[str, ...], str] = {}
    whole, long = dict[int, dict[str, str]](), dict[str, str]()
    for (literal, is_apart), name in parts.items():
        if is_apart or (len(literal) < SHORT and literal.strip(SIGNS)):
            tokens.setdefault(tuple(TOKEN.findall(literal)), name)
        elif len(literal) > piece:
            long[literal] = name
        elif literal:
            whole.setdefault(len(literal), {})[literal] = name
    if long:
        whole[piece] = _pieces(long, text, piece) | whole.get(piece, {})
    yield from _alone(tokens, text)
    for size, names in whole.items():
        begins = bytes(map(names.__contains__, _windows(text, size))) if names else b""
        # what overlaps is one span
        for run in re.finditer(b"\1(?:\0{0,%d}\1)*+" % max(size - 2, 0), begins):
            yield run.start(), run.end() - 1 + size, names[text[run.start() : run.start() + size]]


def _pieces(texts: Mapping[str, str], text: str, size: int) -> dict[str, str]:
    """What `size` characters in a row both have, the text and one of `texts`; with the name of it.

    In them is one of the blocks of half the size that the long one is made of: only around those
    that the text has is anything compared.
    """
    half = size // 2
    blocks, windows = set(_windows(text, half)), set(_windows(text, size))
    names: dict[str, str] = {}
    for literal, name in texts.items():
        around = {  # a set, as what repeats itself has the same again and again
            literal[max(start - half, 0) : start + size]
            for start in range(0, len(literal) - half + 1, half)
            if literal[start : start + half] in blocks
        }
        pieces = (window for place in around for window in _windows(place, size))
        names |= dict.fromkeys(filter(windows.__contains__, pieces), name)
    return names


def _windows(text: str, size: int) -> Iterator[str]:
    """What stands in so many characters in a row, from left to right."""
    starts, ends = range(len(text) - size + 1), range(size, len(text) + 1)
    return map(text.__getitem__, map(slice, starts, ends))


def _alone(texts: Mapping[tuple[str, ...], str], text: str) -> Iterator[Span]:
    """Where each of `texts` makes no longer word, and no longer number, with what is around it.

    There are as many passes as they have numbers of tokens, which in a number are twelve at most.
    """
    tokens = TOKEN.findall(text) if texts else []
    starts = list(accumulate(map(len, tokens), initial=0))
    for count in {len(literal) for literal in texts}:
        windows = zip(*(islice(tokens, first, None) for first in range(count)), strict=False)
        for place, window in enumerate(windows):
            if window in texts and not _goes_on(tokens, place, place + count):
                yield starts[place], starts[place + count], texts[window]


def _goes_on(tokens: Sequence[str], start: int, end: int) -> bool:
    """Whether a number with its thousands apart is a part of a longer one, as in 1,000,000.

    RULE: one without stays a whole one, as 5 in "5,100": that may be a list, or a row of a table.
    """
    sign = next((token for token in tokens[start + 1 : end - 1] if token in APART), None)
    if sign is None:
        return False
    match tokens[max(start - 2, 0) : start]:
        case [digits, before] if before == sign and (digits + tokens[start]).isdecimal():
            return True
        case _:
            pass
    match tokens[end : end + 2]:
        case [after, digits] if digits.isdecimal() and "." not in tokens[start:end]:
            is_thousands = after == sign and len(digits) == len("000")
            return is_thousands or (after == "." and bool(digits.strip("0")))
        case _:
            return False


def _disguises(text: str) -> Iterator[str]:
    """A secret in the forms in which others may repeat it."""
    data = text.encode(errors="replace")
    yield from (text, text.strip(), escape(text), data.hex(), repr(data)[2:-1])
    for form in ("NFC", "NFD"):
        yield "".join(normalize(form, piece) for piece in STRETCH.findall(text))
    yield from _encodings(data, 6, b64encode)
    yield from _encodings(data, 5, b32encode)
    if len(text) > SHORT:
        yield from (text[::-1], " ".join(text), "-".join(text))


def _encodings(data: bytes, bits: int, encode: Callable[[bytes], bytes]) -> Iterator[str]:
    """Letters of so many bits each, which are others behind a name, as in "Basic"."""
    for shift in range(bits if bits % 2 else bits // 2):
        size = shift + len(data)
        letters = encode(bytes(shift) + data)[-(-shift * 8 // bits) : size * 8 // bits]
        if len(letters) >= SECRET:
            yield letters.decode()


def _parts(value: object, around: tuple[object, ...] = ()) -> Iterator[Part]:
    """The texts by which a value, which stands in those `around`, can be recognised."""
    if value is None or isinstance(value, bool) or any(value is outer for outer in around):
        return
    if isinstance(value, str) and not isinstance(value, Enum):
        if value.strip():
            # as it is, and as Python, JSON and URLs have it
            yield from (Part(value), Part(repr(value)[1:-1]), Part(json.dumps(value)[1:-1]))
            yield Part(json.dumps(value, ensure_ascii=False)[1:-1])
            if len(value) <= A_PAGE:
                yield from (Part(quote(value, safe, errors="replace")) for safe in ("", "/"))
                yield Part(quote_plus(value, errors="replace"))
    elif isinstance(value, int | float) and not isinstance(value, Enum):
        yield from (Part(form, is_apart=True) for form in (*_prints(value), *_numerals(value)))
    elif isinstance(value, bytes):
        yield from _parts(value.decode(errors="replace"))
        yield from map(Part, (repr(value)[2:-1], b64encode(value).decode()) if value else ())
    elif isinstance(value, Mapping | Sequence | AbstractSet) or field_names(type(value)):
        yield from (part for item in _inside(value) for part in _parts(item, (*around, value)))
    else:
        yield from map(Part, _prints(value))
        if isinstance(value, Decimal):
            yield from (Part(form, is_apart=True) for form in _numerals(value))
        yield from (part for item in _inside(value) for part in _parts(item, (*around, value)))


def _numerals(value: float | Decimal) -> Iterator[str]:
    """The same number as people write it: with two digits or none at its end, thousands apart."""
    if isinstance(value, Decimal):
        if not value.is_finite() or not TINY < abs(value) < A_QUADRILLION:
            return
        forms = {Decimal.__format__(value.normalize(), style) for style in (",f", ",.0f", ",.2f")}
        same = [form for form in forms if Decimal(form.replace(",", "")) == value]
    elif abs(value) < A_QUADRILLION:  # as nothing is that is no number
        kind: Any = int if isinstance(value, int) else float
        forms = {kind.__format__(value, style) for style in (",", ",.0f", ",.2f")}
        same = [form for form in forms if float(form.replace(",", "")) == value]
    else:
        return
    for form in same:
        yield from (form.replace(",", sign) for sign in THOUSANDS)


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


def _prints(value: object) -> Iterator[str]:
    """How a value prints itself; it may fail to."""
    for form in (str, repr, lambda moment: moment.isoformat()):
        try:
            yield form(value)
        except Exception:  # noqa: BLE001, S112 - then no text has it either
            continue
