"""Totals: how much of each budget was spent in all, exactly.

RULE: what is added and given back leaves the total as it was. A float forgets small amounts beside
a huge one, so that a call of 1e20 that was refused would take along all that was spent before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import TypeAlias

from detent.core.codec.forms import mismatch
from detent.core.values.frozen import FrozenDict

Amounts: TypeAlias = FrozenDict[str, float]
"""How much of each budget, by its name; a budget has no amount below zero."""
NOTHING: Amounts = FrozenDict()
_CALLS = "calls of "
Totals: TypeAlias = FrozenDict[str, Fraction]
"""How much in all, by the name of the budget."""
NO_TOTALS: Totals = FrozenDict()
RATIO = re.compile(r"\d{1,2000}/[1-9]\d{0,1999}", re.ASCII)
"""How a total is stored that no number of JSON says. RULE: none is longer than one can be read."""


def calls_budget(tool_name: str) -> str:
    """The budget of which each call of a tool takes one, however often it is begun."""
    return f"{_CALLS}{tool_name}"


def once(amounts: Amounts) -> Amounts:
    """What of these a call takes once: of all else, each of its attempts takes as much again."""
    return FrozenDict({name: x for name, x in amounts.items() if name.startswith(_CALLS)})


def exact(amount: float | Fraction) -> Fraction:
    """An amount as it is written: ten times 0.1 is 1, which no sum of floats is."""
    return Fraction(repr(amount)) if isinstance(amount, float) else Fraction(amount)


def with_change(
    totals: Totals, before: Mapping[str, float | Fraction], now: Mapping[str, float | Fraction]
) -> Totals:
    """The totals where `now` comes in place of `before`.

    A run that was handed in may have spent less than it says of its calls: then nothing is left,
    as less would make room for more.
    """
    amounts = dict(totals)
    for name in {*before, *now}:
        change = exact(now.get(name, 0)) - exact(before.get(name, 0))
        amounts[name] = max(Fraction(), amounts.get(name, Fraction()) + change)
    return FrozenDict(amounts)


def largest(amounts: Iterable[Mapping[str, float]]) -> FrozenDict[str, float]:
    """Of each name the largest amount: all are of one call, which takes it but once."""
    most: dict[str, float] = {}
    for one in amounts:
        for name, amount in one.items():
            most[name] = max(amount, most.get(name, 0.0))
    return FrozenDict(most)


def total_to_json(total: Fraction) -> float | str:
    """As a number, if that is all of it."""
    with suppress(OverflowError):
        number = float(total)
        if exact(number) == total:
            return number
    return f"{total.numerator}/{total.denominator}"


def total_from_json(data: object, _: object = None) -> Fraction:
    """What `total_to_json` has written. Raises MismatchError for anything else."""
    if isinstance(data, int | float) and not isinstance(data, bool):
        try:
            return exact(data)
        except (ValueError, OverflowError):  # a NaN, or what is endless
            raise mismatch("a number", data) from None
    if isinstance(data, str) and RATIO.fullmatch(data):
        return Fraction(data)
    raise mismatch("a number or a ratio", data)
