"""Of an object with very many wrong names the first is told, in linear time."""

from __future__ import annotations

import pytest

from detent.core.schema.explaining.sentences import FAULTS_MAX
from detent.core.schema.validation import MORE, Validator

SHORT = Validator({"propertyNames": {"maxLength": 4}})
MANY = {f"name {n}": n for n in range(500)}


@pytest.mark.parametrize("value", [MANY, {"a": MANY}, [1, {"a": [MANY]}]])
def test_of_too_many_names_the_first_is_told(value: object) -> None:
    """Wherever the object stands."""
    everywhere = {"propertyNames": {"maxLength": 4}, "additionalProperties": {"$ref": "#"}}
    test = Validator({**everywhere, "items": {"$ref": "#"}})

    told, more = test.faults(value)
    assert "name 0 (the name)' must have at most 4 characters, got 6" in told
    assert more == MORE


def test_a_few_are_told() -> None:
    """Each by itself, as far as anybody reads."""
    few = dict(list(MANY.items())[:100])

    assert len(SHORT.faults(few)) == FAULTS_MAX + 1


def test_many_that_fit_are_no_fault() -> None:
    """However many they are."""
    assert SHORT.faults({f"{n}": n for n in range(500)}) == []
