"""Constraints: what ``Annotated[int, Ge(1)]`` or ``Annotated[str, Field(max_length=9)]`` asks for.

The marks of annotated-types and of pydantic are known by their attributes, without either library.
What JSON Schema has a word for, a model is told; all of it is checked when arguments are converted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cache
from math import inf
from operator import ge, gt, le, lt
from typing import Any, TypeAlias

from detent.core.schema.validation import Validator

Rule: TypeAlias = tuple[str, Any]
"""The name of a constraint, and its bound."""


def _is_multiple(value: Any, rule: Any) -> bool:
    if isinstance(value, timedelta):
        return not value % rule
    return (Fraction(str(value)) / Fraction(str(rule))).denominator == 1


@cache
def _matcher(pattern: object) -> Validator:
    """The test of a pattern: with the engine of schemas, which no text can keep busy for long."""
    return Validator({"type": "string", "pattern": pattern})


CHECKS: Mapping[str, tuple[Callable[[Any, Any], object], str]] = {
    "ge": (ge, "be at least {}"),
    "gt": (gt, "be more than {}"),
    "le": (le, "be at most {}"),
    "lt": (lt, "be less than {}"),
    "multiple_of": (_is_multiple, "be a multiple of {}"),
    "min_length": (lambda value, rule: len(value) >= rule, "have a length of at least {}"),
    "max_length": (lambda value, rule: len(value) <= rule, "have a length of at most {}"),
    "pattern": (lambda value, rule: _matcher(plain_bound(rule)).fits(value), "match {}"),
    "func": (lambda value, rule: rule(value), "satisfy {}"),
}
"""For each constraint how it is checked, and what a value that does not meet it must do."""

UNCHECKED = ("max_digits", "decimal_places", "strip_whitespace", "to_upper", "to_lower")
"""What pydantic's notes may ask for as well, and only its models do."""


def rules_of(notes: Iterable[object]) -> Iterator[Rule]:
    """The constraints among the notes of an ``Annotated``.

    Raises:
        TypeError: a note asks for what cannot be checked here.
    """
    for note in notes:
        library = type(note).__module__.partition(".")[0]
        checks = {name: getattr(note, name, None) for name in CHECKS}
        if isinstance(inside := getattr(note, "metadata", None), list):  # a Field has notes itself
            yield from rules_of(inside)
        elif library in ("annotated_types", "pydantic"):
            is_more = any(getattr(note, name, None) for name in UNCHECKED) or hasattr(note, "tz")
            if is_more or (library == "pydantic" and checks["func"]):
                raise TypeError(f"{note!r} cannot be checked here; do it in the function")
            bounds = ((name, rule) for name, rule in checks.items() if rule is not None)
            yield from ((name, rule) for name, rule in bounds if rule not in (inf, -inf))


def unmet(value: object, rules: Iterable[Rule]) -> Iterator[str]:
    """What the value must do: a phrase for each of the constraints that it does not meet."""
    for name, rule in rules if value is not None else ():
        holds, phrase = CHECKS[name]
        if not holds(value, rule):
            yield f"must {phrase.format(getattr(rule, '__name__', plain_bound(rule)))}"


def plain_bound(rule: Any) -> object:
    """A bound as JSON has it."""
    if isinstance(rule, re.Pattern):
        flags = "".join(flag for flag in "imsx" if rule.flags & re.RegexFlag[flag.upper()])
        return f"(?{flags}){rule.pattern}" if flags else rule.pattern
    return float(rule) if isinstance(rule, Decimal) else rule
