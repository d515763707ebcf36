"""JSON text of plain values, written at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from json.encoder import encode_basestring_ascii
from math import isfinite
from types import NoneType
from typing import Any

from detent.core.codec.forms import INT64
from detent.core.values.frozen import FrozenDict, FrozenList

TAG = "$type"
"""The entry that says which class an object is of."""

quoted: Callable[[str], str] = encode_basestring_ascii
"""A text as JSON, in ASCII: half a character pair, which no encoding has, passes as well."""

encoded: Callable[[object], str] = json.JSONEncoder(separators=(",", ":")).encode
"""Any plain JSON as text. It looks for cycles and makes its tools anew, so it takes longer."""


class NotPlainError(Exception):
    """Something is no plain JSON, or looks like a tag of ours."""


def plain_text(value: Any) -> str:
    """`value` as JSON text, if all readers of JSON read the same from it.

    Raises:
        NotPlainError: it must be stored in another way.
    """
    write = _WRITERS.get(type(value))
    if write is None:
        raise NotPlainError
    return write(value)


LEAST, MOST = INT64[0], INT64[-1]


def _text(value: str) -> str:
    if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
        raise NotPlainError
    return quoted(value)


def _integer(value: int) -> str:
    if not LEAST <= value <= MOST:  # a range computes more than that
        raise NotPlainError
    return repr(value)


def _number(value: float) -> str:
    if not isfinite(value):
        raise NotPlainError
    return repr(value)


def _object(value: Mapping[Any, Any]) -> str:
    parts: list[str] = []
    for name, item in value.items():
        write = _WRITERS.get(type(item))
        if write is None or type(name) is not str or name == TAG:
            raise NotPlainError
        parts.append(f"{quoted(name) if name.isascii() else _text(name)}:{write(item)}")
    return f"{{{','.join(parts)}}}"


def _array(value: list[Any]) -> str:
    return f"[{','.join(map(plain_text, value))}]"


_WRITERS: Mapping[type, Callable[[Any], str]] = {
    str: _text,
    int: _integer,
    float: _number,
    bool: lambda value: "true" if value else "false",
    NoneType: lambda value: "null",
    dict: _object,
    FrozenDict: _object,
    list: _array,
    FrozenList: _array,
}
