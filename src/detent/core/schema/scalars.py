"""Scalars: values that JSON has as one text, their schema, and how each is read and written."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

MICROSECOND = timedelta(microseconds=1)
DURATION = re.compile(
    r"(?P<sign>-?)P(?=[0-9T])(?:(?P<weeks>[0-9]+)W)?(?:(?P<days>[0-9]+)D)?"
    r"(?:T(?=[0-9])(?:(?P<hours>[0-9]+)H)?(?:(?P<minutes>[0-9]+)M)?"
    r"(?:(?P<seconds>[0-9]+)(?:\.(?P<fraction>[0-9]{1,6}))?S)?)?"
)
"""ISO 8601, but for years and months: nobody can say how long those are."""


class Scalar(NamedTuple):
    """What JSON has for the values of a type; reading raises ValueError for another text."""

    schema: Mapping[str, Any]
    read: Callable[[str], Any]
    write: Callable[[Any], str]


def duration_text(span: timedelta) -> str:
    """A duration as ISO 8601 has it: exactly, in days and seconds.

    >>> duration_text(timedelta(days=-1, seconds=1.5))
    '-PT86398.5S'
    """
    length = abs(span // MICROSECOND)  # not abs(span): the shortest one has no opposite
    days, rest = divmod(length, timedelta(days=1) // MICROSECOND)
    seconds, fraction = divmod(rest, 1_000_000)
    clock = f"T{seconds}{f'.{fraction:06}'.rstrip('0') if fraction else ''}S"
    sign = "-" if span < timedelta() else ""
    return f"{sign}P{f'{days}D' if days else ''}{clock if rest or not days else ''}"


def duration(text: str) -> timedelta:
    """What an ISO 8601 duration says.

    Raises:
        ValueError: it is none, has years or months, or is longer than Python can say.
    """
    match = DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no duration as in P1DT12H30M5S")
    sign, *units, fraction = match.groups(default="0")
    weeks, days, hours, minutes, seconds = map(int, units)
    whole = (weeks * 7 + days) * 86_400 + hours * 3_600 + minutes * 60 + seconds
    length = whole * 1_000_000 + int(fraction.ljust(6, "0"))
    try:
        return MICROSECOND * (-length if sign == "-" else length)
    except OverflowError as error:
        raise ValueError(f"{text!r} is longer than a timedelta can be") from error


def _decimal(text: str | float) -> Decimal:
    if isinstance(text, str) and not re.fullmatch(r"[+\-.0-9A-Za-z]+", text):
        raise ValueError(f"{text!r} is no decimal number")  # Python takes "1_000" and " 5" for some
    try:
        return Decimal(str(text))  # of a number what is written, and not what is held
    except ArithmeticError as error:
        raise ValueError(f"{text!r} is no decimal number") from error


SCALARS: Mapping[type, Scalar] = {
    datetime: Scalar(
        {"type": "string", "format": "date-time"}, datetime.fromisoformat, datetime.isoformat
    ),
    date: Scalar({"type": "string", "format": "date"}, date.fromisoformat, date.isoformat),
    time: Scalar({"type": "string", "format": "time"}, time.fromisoformat, time.isoformat),
    timedelta: Scalar({"type": "string", "format": "duration"}, duration, duration_text),
    UUID: Scalar({"type": "string", "format": "uuid"}, UUID, str),
    Decimal: Scalar({"type": ["string", "number"], "format": "decimal"}, _decimal, str),
    bytes: Scalar(
        {"type": "string", "contentEncoding": "base64"},
        lambda text: b64decode(text, validate=True),
        lambda data: b64encode(data).decode("ascii"),
    ),
}
"""A datetime is a date too: whoever looks for a class that a value has must look in this order."""
