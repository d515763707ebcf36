"""Redaction: what the state holds does not leave through the text of an error."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from bisect import bisect
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from inspect import isroutine
from itertools import accumulate, chain, compress, islice
from operator import itemgetter, le
from typing import NamedTuple, TypeAlias
from urllib.parse import quote, quote_plus

from detent.core.schema.record_fields import field_names

SHORT = 3
"""A text with fewer characters is only taken out where it stands alone."""

LONG = 24
"""Of a text with more characters its beginning and its end are taken out as well: texts are cut."""


MANY = 16
"""More texts than these are looked for together."""

PROBES = (8, SHORT, 2, 1)
"""Of a text that is looked for together with others, so many first characters are looked for first:
the more, the fewer places there are to look closer."""


Span: TypeAlias = tuple[int, int]


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
    kept = sorted(_found(known, text))
    found = {
        name: spans
        for name, value in values.items()
        if (spans := _merged(_unknown(_found(value, text), kept)))
    }
    if len(found) == 1:  # as mostly; a million of characters may have a third of that of spans
        ((name, spans),) = found.items()
        return f"<{name}>".join(_between(spans, text))
    pieces: list[str] = []
    at = 0
    # The longest of those that start together comes first, and all that overlap go as one: else
    # the end of a value would stay behind where another one begins in the middle of it.
    for start, end, name in sorted(
        (a, -b, name) for name, spans in found.items() for a, b in spans
    ):
        if start >= at:
            pieces += (text[at:start], f"<{name}>")
        at = max(at, -end)
    return "".join((*pieces, text[at:]))


def _found(value: object, text: str) -> Iterator[Span]:
    parts = set(_parts(value))
    if len(parts) <= MANY:
        return (span for part in parts for span in _spans(part, text))
    return _found_together(parts, text)


def _found_together(parts: Iterable[Part], text: str) -> Iterator[Span]:
    """Where many parts stand: the text is read once for each probe, not once for each part.

    A long one is then looked for around where it begins or ends alone.
    """
    by_probe: dict[int, dict[str, dict[int, dict[str, list[Part]]]]] = {}
    for part in parts:
        for key in {part.text} if _is_whole(part) else {part.text[:LONG], part.text[-LONG:]}:
            probe = next(size for size in PROBES if size <= len(key))
            by_size = by_probe.setdefault(probe, {}).setdefault(key[:probe], {})
            by_size.setdefault(len(key), {}).setdefault(key, []).append(part)
    for probe, wanted in by_probe.items():
        windows: dict[Part, list[Span]] = {}
        starts = range(len(text) - probe + 1)
        keys = map(text.__getitem__, map(slice, starts, range(probe, len(text) + 1)))
        for start in compress(starts, map(wanted.__contains__, keys)):
            for size, alike in wanted[text[start : start + probe]].items():
                for part in alike.get(text[start : start + size], ()):
                    _note(windows.setdefault(part, []), start, size, len(part.text))
        for part, near in windows.items():
            for first, last in near:
                # with the characters around it, by which one is told that stands alone
                begin = max(first - 1, 0)
                around = text[begin : last + 1]
                yield from ((begin + a, begin + b) for a, b in _spans(part, around))


def _note(near: list[Span], start: int, size: int, reach: int) -> None:
    """Add where a part of length `reach` may stand, of which so much stands at `start`."""
    span = max(start + size - reach, 0), start + reach
    if near and span[0] < near[-1][1]:
        near[-1] = near[-1][0], span[1]
    else:
        near.append(span)


def _is_whole(part: Part) -> bool:
    """Whether it counts only where all of it stands."""
    return part.is_apart or len(part.text) <= LONG


def _merged(spans: Iterable[Span]) -> list[Span]:
    """In order, those that overlap as one."""
    spans = sorted(spans)
    if all(map(le, map(itemgetter(1), spans), map(itemgetter(0), islice(spans, 1, None)))):
        return spans
    merged: list[Span] = []
    last = 0
    for start, end in spans:
        if start < last:
            merged[-1] = (merged[-1][0], last := max(last, end))
        else:
            merged.append((start, end))
            last = end
    return merged


def _unknown(spans: Iterable[Span], kept: list[Span]) -> Iterable[Span]:
    """Those that do not stand within a text that the reader knows."""
    if not kept:
        return spans
    starts, reach = [start for start, _ in kept], list(accumulate((end for _, end in kept), max))
    return (
        (start, end)
        for start, end in spans
        if not (place := bisect(starts, start)) or reach[place - 1] < end
    )


def _between(spans: list[Span], text: str) -> Iterator[str]:
    at = 0
    for start, end in spans:
        yield text[at:start]
        at = end
    yield text[at:]


def without_secrets(text: str, arguments: Mapping[str, object], names: Collection[str]) -> str:
    """`text` without what a call has for the parameters `names`, which people may not see."""
    secrets = {name: arguments[name] for name in names if name in arguments}
    return redacted(text, secrets, known={}) if secrets else text


def _spans(part: Part, text: str) -> Iterable[Span]:
    """Where in `text` the part stands, from and to; of a long one, where any end of it stands."""
    literal, size = part.text, len(text)
    if part.is_apart or len(literal) < SHORT:
        length = len(literal)
        return [(at.start(), at.start() + length) for at in re.finditer(_pattern(literal), text)]
    if len(literal) <= LONG:
        return [at.span() for at in re.finditer(_chain(literal), text)] if literal in text else ()
    ends = literal[-LONG:] in text
    mirrored = _beginnings(literal[::-1], text[::-1], LONG) if ends else ()
    return chain(_beginnings(literal, text, LONG), ((size - b, size - a) for a, b in mirrored))


def _chain(literal: str) -> str:
    """A pattern for all of a text that overlaps itself, again and again: the ends that it adds."""
    ends = [
        literal[-period:]
        for period in range(1, len(literal))
        if literal.startswith(literal[period:])
    ]
    if not ends:
        return re.escape(literal)
    # The nearest that fits first, and never another way: each character is looked at a few times.
    return f"{re.escape(literal)}(?:{'|'.join(map(re.escape, ends))})*+"


def _beginnings(literal: str, text: str, least: int) -> Iterator[Span]:
    """Where `text` has at least so many of the first characters of `literal`; spans may overlap.

    Each place counts, as one in the middle may reach furthest. A text that repeats itself, as
    "aaaa", would take the square of its length; so this is the search of Knuth, Morris and Pratt,
    which goes on at the next place that can reach further, and compares no character again. Where
    the beginning itself repeats a few characters, the next place is but these away: such a run is
    taken as a whole, as only its last places can reach beyond it.
    """
    head, table, length = literal[:least], list[int](), len(literal)
    period = next(n for n in range(1, least + 1) if head.startswith(head[n:]))
    run = re.compile(_run(head[:period]) if period < least else "")  # which nothing repeats
    alike = _run_end(run, literal, 0)  # so far it repeats its first characters
    is_once = literal.find(head, 1) < 0
    start, known = text.find(head), least
    while start >= 0:
        stop = _run_end(run, text, start)
        if alike == length and stop > start:  # the whole of it is such a run
            last = start + (stop - start - least) // period * period
            yield start, min(last + length, stop)
            start, known = text.find(head, last + 1), least
            continue
        if stop - start > alike:
            # Each place stops where the run of the literal does, up to the first with less to go.
            last = start + -(-(stop - alike - start) // period) * period
            yield start, last - period + alike
            if stop - last < least:
                start, known = text.find(head, last - period + 1), least
                continue
            start, known = last, stop - last
        size = _shared(literal, text, start, known)
        yield start, start + size
        if is_once:
            start, known = text.find(head, start + size - least + 1), least
            continue
        table = table or _borders(literal)
        known = table[size]
        start += size - known
        if known < least:
            start, known = text.find(head, start + known - least + 1), least


def _run(unit: str) -> str:
    """A pattern for a text that repeats `unit` as far as it goes, the last time in part."""
    parts = "|".join(re.escape(unit[:size]) for size in range(len(unit) - 1, 0, -1))
    return f"(?:{re.escape(unit)})*+(?:{parts})?"


def _run_end(run: re.Pattern[str], text: str, start: int) -> int:
    match = run.match(text, start)
    return start if match is None else match.end()


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
    text, before, after = re.escape(literal), _alike(literal[0]), _alike(literal[-1])
    if _chain(literal) != text:  # it may overlap itself, so that what is found has no width
        return f"(?<!{before})(?={text}(?!{after}))"
    return f"{text}(?<!{before}{text})(?!{after})"  # looked around only where it stands


def _alike(char: str) -> str:
    """A pattern for what makes one word, or one number, with a character."""
    return r"\d" if char.isdigit() else r"[^\W\d_]" if char.isalpha() else "(?!)"


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
