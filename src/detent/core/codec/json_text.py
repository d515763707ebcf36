"""JSON text, and which values every reader of JSON reads alike."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from json.encoder import encode_basestring_ascii
from math import inf, isfinite
from types import NoneType
from typing import Any, Never

from detent.core.values.frozen import FrozenDict, FrozenList

NUMBERS = (int, float)

TAG = "$type"
"""The entry that says which class an object is of."""

NATIVE: frozenset[type] = frozenset({str, int, float, bool, NoneType})
"""The types of what JSON has in one word."""

LEAST, MOST = -(2**63), 2**63 - 1
"""Of 64 bits: beyond them readers of JSON round, or refuse."""

EXACT = 2**53
"""Below it each whole number is a double, which is all that JavaScript has; from it on two may be
the same."""

_ENCODER = json.JSONEncoder(separators=(",", ":"), check_circular=False)
_make: Any = getattr(json.encoder, "c_make_encoder", None)  # only CPython has it
_chunks: Any = _make and _make(
    None, _ENCODER.default, encode_basestring_ascii, None, ":", ",", *(False, False, True)
)


def encode(value: object) -> str:
    """Any plain JSON as text, in ASCII: half a character pair, which no encoding has, passes too.

    What holds itself is found out before, or ends as a RecursionError.

    The standard encoder makes its C part anew for each text, which for an event takes as long as
    the text itself: 1.6 of 3.3 µs.
    """
    return "".join(_chunks(value, 0)) if _chunks else _ENCODER.encode(value)


def read_json(text: str | bytes | bytearray) -> Any:
    """The value of a text that came from outside: a model's, a client's, a human's.

    Python reads more than is JSON: the words NaN and Infinity, and a number beyond all floats as
    infinite. No such value can be sent on, so a conversation that held one would be stuck with it.

    Raises:
        ValueError: the text is no JSON, or is nested too deep to be read.
    """
    try:
        return json.loads(text, parse_float=_finite, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def _finite(text: str) -> float:
    number = float(text)
    return number if isfinite(number) else _refuse(text)


def _refuse(text: str) -> Never:
    raise ValueError(f"{text:.40} is no number of JSON that can be read")


def is_finite(value: object) -> bool:
    """Whether no float in JSON that has been read, however deep, is infinite or no number."""
    return all(isfinite(item) for item in _parts(value) if isinstance(item, float))


def rounding_faults(value: object, original: object) -> list[str]:
    """One sentence for each number in `value` that is perhaps an `original`, rounded on its way.

    RULE: who sends back what they were shown must not change what they have not touched. A page
    in JavaScript makes another number of a great one as it reads it, and null of one beyond all
    floats.

    >>> rounding_faults({"account": 2**53, "amount": 5}, {"account": 2**53 + 1, "amount": 9})
    ['9007199254740992 is perhaps 9007199254740993, rounded by a program that has doubles alone']
    """
    great = [item for item in _parts(original) if type(item) in NUMBERS and abs(item) >= EXACT]
    by_double, known = {_double(item): item for item in great}, {*great}
    return [
        f"{encode(item):.40} is perhaps {encode(by_double[_double(item)]):.40}, rounded by a "
        "program that has doubles alone"
        for item in (_parts(value) if great else ())
        if (type(item) in NUMBERS or item is None)
        and _double(item) in by_double
        and item not in known
    ]


def _double(number: Any) -> float:
    try:
        return inf if number is None else float(number)
    except OverflowError:
        return inf


def _parts(value: object) -> Iterator[Any]:
    """A value and all that is inside it, however deep."""
    level = [value]
    while level:
        yield from level
        level = [inner for item in level for inner in _inside(item)]


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, (list, tuple)) else ()


def is_plain(value: Any) -> bool:
    """Whether every reader of JSON reads the same from it, and nothing in it looks like our tag."""
    kind = type(value)
    if kind is FrozenDict or kind is dict:
        if TAG in value:
            return False
        for name, item in value.items():
            if type(name) is not str or not (name.isascii() or is_native(name)):
                return False
            inner = type(item)  # what is usual costs no further call
            if (inner is str and item.isascii()) or (inner is int and LEAST <= item <= MOST):
                continue
            if not is_plain(item):
                return False
        return True
    if kind is FrozenList or kind is list:
        return all(map(is_plain, value))
    if kind is int:
        fits: bool = LEAST <= value <= MOST
        return fits
    return kind in NATIVE and is_native(value)


def is_native(value: object) -> bool:
    """Whether JSON has `value`, which is a scalar, and all who read and write JSON agree on it."""
    if isinstance(value, str):
        return value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)
    if isinstance(value, float):
        return isfinite(value)
    return not isinstance(value, int) or LEAST <= value <= MOST
