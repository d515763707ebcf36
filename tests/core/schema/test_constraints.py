"""What notes in `Annotated` ask for is said in the schema, and checked."""

from __future__ import annotations

import re
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen, MultipleOf, Predicate
from annotated_types import Timezone as TimeZone
from pydantic import AfterValidator, Field, StringConstraints

from detent.core.schema.constraints import rules_of, unmet


@pytest.mark.parametrize(
    "note",
    [
        AfterValidator(len),
        TimeZone(None),
        StringConstraints(strip_whitespace=True),
        Field(max_digits=3),
    ],
    ids=lambda note: type(note).__name__,
)
def test_what_cannot_be_checked_is_not_passed_over(note: object) -> None:
    """Only a model of pydantic's can do it."""
    with pytest.raises(TypeError, match="cannot be checked here; do it in the function"):
        list(rules_of([note]))


@pytest.mark.parametrize(
    ("value", "note", "expected"),
    [
        (2, Ge(3), "must be at least 3"),
        (3, Gt(3), "must be more than 3"),
        (4, Le(3), "must be at most 3"),
        (3, Lt(3), "must be less than 3"),
        (3, MultipleOf(2), "must be a multiple of 2"),
        (0.35, MultipleOf(0.1), "must be a multiple of 0.1"),
        (timedelta(seconds=3), MultipleOf(timedelta(seconds=2)), "must be a multiple of 0:00:02"),
        ("a", MinLen(2), "must have a length of at least 2"),
        ([1, 2], MaxLen(1), "must have a length of at most 1"),
        ("b", Field(pattern="^a"), "must match ^a"),
        ("B", StringConstraints(pattern=re.compile("^a", re.IGNORECASE)), "must match (?i)^a"),
        ("B", Predicate(str.islower), "must satisfy islower"),
        (date(2025, 1, 1), Ge(date(2026, 1, 1)), "must be at least 2026-01-01"),
        (Decimal("0.1"), Ge(Decimal("0.5")), "must be at least 0.5"),
    ],
    ids=str,
)
def test_what_a_value_does_not_meet_is_said(value: Any, note: object, expected: str) -> None:
    """Whatever its type; and what fits, fits."""
    assert list(unmet(value, rules_of([note]))) == [expected]
    assert list(unmet(None, rules_of([note]))) == []


def test_what_a_value_meets_is_not_said() -> None:
    """Nothing to say."""
    assert (
        list(unmet(4, rules_of([Ge(3), Field(lt=5, multiple_of=2), Predicate(bool), "text"]))) == []
    )
    assert list(unmet(0.3, rules_of([MultipleOf(0.1)]))) == []
    assert list(unmet(timedelta(4), rules_of([MultipleOf(timedelta(2))]))) == []
