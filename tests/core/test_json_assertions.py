"""The parts that sentences about JSON values are made of."""

from __future__ import annotations

import pytest

from detent.core.frozen import FrozenDict, FrozenList
from detent.core.json_assertions import ASSERTIONS, Place, identity, is_a, kind_of, shown


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("a", "string"),
        (True, "boolean"),
        (1, "number"),
        (1.5, "number"),
        (None, "null"),
        ({}, "object"),
        (FrozenDict(), "object"),
        ([], "array"),
        (FrozenList(), "array"),
        (type("Name", (str,), {})("b"), "string"),
    ],
)
def test_every_value_has_a_json_type(value: object, kind: str) -> None:
    """Subclasses too; a bool is no number."""
    assert kind_of(value) == kind


def test_a_whole_number_is_an_integer_however_it_is_written() -> None:
    """1.0 is, 1.5 and true are not."""
    assert [is_a(value, "integer") for value in (1, 1.0, 1.5, True)] == [True, True, False, False]
    assert is_a(1.5, ["integer", "number"])
    assert not is_a(1.5, ["integer", "string"])


def test_values_are_the_same_as_json_sees_it() -> None:
    """1 and 1.0 are, at any depth; 1 and true are not."""
    assert identity([1, {"a": 1.0}]) == identity([1.0, {"a": 1}])
    assert identity([1]) != identity([True])
    assert identity({"a": 0}) != identity({"a": False})


def test_a_place_is_named_as_people_write_it() -> None:
    """A dot for a property, brackets for an item."""
    assert str(Place({}).of("a").at(2).of("b")) == "'a[2].b'"


def test_a_long_value_is_shortened() -> None:
    """As JSON, so that the model recognises what it wrote."""
    assert shown({"a": [True, None]}) == '{"a": [true, null]}'
    assert len(shown("x" * 1000)) == 61


def test_each_assertion_speaks_about_a_json_type() -> None:
    """The table has nothing else."""
    kinds = {kind for kind, _ in ASSERTIONS.values()}
    assert kinds == {"object", "array", "number", "string"}
