"""Of an object with very many wrong names it is said that it does not fit, in linear time."""

from __future__ import annotations

import pytest

from detent.core.schema.validation import FAULTS_MAX, NAMES_MAX, Validator

SHORT = Validator({"propertyNames": {"maxLength": 4}})
TOLD = ["the arguments do not fit, and have an object with too many names to say which"]
MANY = {f"name {n}": n for n in range(NAMES_MAX + 1)}


@pytest.mark.parametrize("value", [MANY, {"a": MANY}, [1, {"a": [MANY]}]])
def test_names_are_too_many_to_be_told(value: object) -> None:
    """Wherever the object stands."""
    everywhere = {"propertyNames": {"maxLength": 4}, "additionalProperties": {"$ref": "#"}}
    test = Validator({**everywhere, "items": {"$ref": "#"}})

    assert test.faults(value) == TOLD


def test_a_few_are_told() -> None:
    """Each by itself, as far as anybody reads."""
    few = dict(list(MANY.items())[:NAMES_MAX])

    assert len(SHORT.faults(few)) == FAULTS_MAX + 1


def test_many_that_fit_are_no_fault() -> None:
    """However many they are."""
    assert SHORT.faults({f"{n}": n for n in range(NAMES_MAX + 1)}) == []
