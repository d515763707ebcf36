"""The parts that sentences about JSON values are made of."""

from __future__ import annotations

from itertools import product
from math import inf, nan
from typing import Any

import pytest

from detent.core.schema.json_values import CLASSES, Codes, identity, is_a, short_json
from detent.core.values.frozen import FrozenDict, FrozenList


@pytest.mark.parametrize(
    ("value", "types"),
    [
        ("a", {"string"}),
        (True, {"boolean"}),
        (1, {"integer", "number"}),
        (1.0, {"integer", "number"}),
        (1.5, {"number"}),
        (inf, set()),
        (nan, set()),
        (None, {"null"}),
        ({}, {"object"}),
        (FrozenDict(), {"object"}),
        ([], {"array"}),
        (FrozenList(), {"array"}),
        (type("Name", (str,), {})("b"), {"string"}),
    ],
)
def test_every_value_has_a_json_type(value: object, types: set[str]) -> None:
    """A bool is no number, a whole number is an integer however it is written, NaN is nothing."""
    assert {name for name in CLASSES if is_a(value, name)} == types


def test_values_are_the_same_as_json_sees_it() -> None:
    """1 and 1.0 are, at any depth; 1 and true are not."""
    assert identity([1, {"a": 1.0}]) == identity([1.0, {"a": 1}])
    assert identity([1]) != identity([True])
    assert identity({"a": 0}) != identity({"a": False})


def test_codes_are_the_same_where_values_are() -> None:
    """Also where a number is called like a text."""
    scalars: list[Any] = [0, 0.0, -0.0, 1, 1.0, 1.5, -1, 2**70, float(2**70), 255, "ff", True, None]
    values = [*scalars, "1", "", [], [1], [1.0], [[1]], {}, {"a": [1]}, {"a": [1.0]}, {"1": 1}]
    codes = Codes()
    for value, other in product(values, repeat=2):
        assert (codes.of(value) == codes.of(other)) is (identity(value) == identity(other))


def test_a_long_value_is_shortened() -> None:
    """As JSON, so that the model recognises what it wrote."""
    assert short_json({"a": [True, None]}) == '{"a": [true, null]}'
    assert len(short_json("x" * 1000)) == 61
    assert short_json("x" * 58) == f'"{"x" * 58}"'
    assert short_json("x" * 59) == f'"{"x" * 59}…'
