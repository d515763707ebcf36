"""Tests of patterns: whether a value fits one, or cannot be looked at.

RULE: what cannot be looked at fits each rule that denies or asks, and none that allows. Whoever can
put it there, a model or a page that it reads, would switch the rule off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any, TypeAlias

from detent.core.schema.json_values import identity, numbers_in
from detent.core.schema.validation import BITS_MAX, DEPTH_MAX
from detent.core.values.frozen import thaw

if TYPE_CHECKING:
    from detent.core.schema.validation import Validator

Test: TypeAlias = Callable[[object], bool]

HUGE = 1 << BITS_MAX - 1
"""What stands for infinity: it is above each float, and the library can compare it."""
EXACT = frozenset({"multipleOf", "integer", "uniqueItems"})
"""What is said of no infinite number, nor of two of which only that they are huge is known."""


class UnclearError(Exception):
    """A value cannot be looked at; says why, and quotes nothing of it."""


def test_of(pattern: object, *, surely: bool) -> Test:
    """Whether a value, which is JSON but for its numbers, fits a pattern; `surely`, or may do so.

    The test raises UnclearError where nobody can say.
    """
    if isinstance(pattern, str):
        return lambda value: isinstance(value, str) and fnmatchcase(value, pattern)
    if isinstance(pattern, Mapping):
        from detent.adapters.confirmation.readings import number_words, possible, sure
        from detent.core.schema.validation import Validator

        schema = sure(pattern) if surely else possible(pattern)
        return _schema_test(Validator(schema), frozenset(number_words(thaw(pattern))))
    known = thaw(pattern)
    is_about_numbers = any(True for _ in numbers_in(known))

    def is_equal(value: object) -> bool:
        plain = thaw(value)
        if is_about_numbers and any(map(_is_nan, numbers_in(plain))):
            raise UnclearError("there is NaN in it")
        return identity(known) == identity(plain)

    return _clearly(is_equal)


def _schema_test(validator: Validator, words: frozenset[str]) -> Test:
    return _clearly(lambda value: validator.fits_json(_checkable(value, words)))


def _clearly(test: Test) -> Test:
    """The test, which is clear of what neither Python nor the library can take."""

    def tested(value: object) -> bool:
        try:
            return test(value)
        except RecursionError:
            raise UnclearError("it is nested too deep") from None
        except ValueError:  # half a surrogate pair
            raise UnclearError("there is a text in it that no encoding has") from None

    return tested


def _checkable(value: Any, words: frozenset[str], depth: int = DEPTH_MAX) -> Any:
    """The value as the library can check it by a schema that speaks of numbers in these words."""
    if isinstance(value, dict | list):
        if not depth:
            raise UnclearError(f"it is more than {DEPTH_MAX} levels deep")
        if isinstance(value, list):
            return [_checkable(item, words, depth - 1) for item in value]
        return {name: _checkable(item, words, depth - 1) for name, item in value.items()}
    if not _is_odd(value):
        return value
    if words and _is_nan(value):
        raise UnclearError("there is NaN in it")
    if words & EXACT:
        raise UnclearError("there is a number in it that is infinite, or too large")
    return HUGE if value > 0 else -HUGE


def _is_nan(number: float) -> bool:
    return isinstance(number, float) and isnan(number)


def _is_odd(value: object) -> bool:
    """Whether it is a number that the library takes for something else."""
    if isinstance(value, float):
        return not isfinite(value)
    return isinstance(value, int) and value.bit_length() > BITS_MAX
