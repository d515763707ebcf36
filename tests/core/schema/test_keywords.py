"""The parts that sentences about JSON values are made of."""

from __future__ import annotations

from math import inf

import pytest

from detent.core.schema.keywords import ASSERTIONS, Place, identity, is_a, kind_of, shown
from detent.core.values.frozen import FrozenDict, FrozenList


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
    assert shown("x" * 58) == f'"{"x" * 58}"'
    assert shown("x" * 59) == f'"{"x" * 59}…'


def test_each_assertion_speaks_about_a_json_type() -> None:
    """The table has nothing else."""
    kinds = {kind for kind, _ in ASSERTIONS.values()}
    assert kinds == {"object", "array", "number", "string"}


TABLE: list[tuple[str, object, list[object], dict[str, object]]] = [
    ("required", ["a", "b"], [{"a": 1, "b": None}],
     {"'x.b' is missing": {"a": 1}, "'x.a' is missing|'x.b' is missing": {}}),
    ("dependentRequired", {"a": ["b", "c"]}, [{}, {"b": 1}, {"a": 1, "b": 1, "c": 1}],
     {"'x.b' is missing, and 'x.a' needs it": {"a": 1, "c": 1}}),
    ("minProperties", 1, [{"a": 1}], {"'x' must have at least 1 properties, got 0": {}}),
    ("maxProperties", 0, [{}], {"'x' must have at most 0 properties, got 1": {"a": 1}}),
    ("minItems", 1, [[1]], {"'x' must have at least 1 items, got 0": []}),
    ("maxItems", 1, [[1]], {"'x' must have at most 1 items, got 2": [1, 2]}),
    ("uniqueItems", True, [[1, True]], {"'x' must not have an item twice": [1, 2, 1.0]}),
    ("uniqueItems", False, [[1, 1]], {}),
    ("minimum", 2, [2, 2.5], {"'x' must be at least 2, got 1.5": 1.5}),
    ("maximum", 2, [2, -1], {"'x' must be at most 2, got 3": 3}),
    ("exclusiveMinimum", 2, [2.1], {"'x' must be more than 2, got 2": 2}),
    ("exclusiveMaximum", 2, [1.9], {"'x' must be less than 2, got 2": 2}),
    ("multipleOf", 0.1, [0.3, 2, 0],
     {"'x' must be a multiple of 0.1, got 0.25": 0.25,
      "'x' must be a multiple of 0.1, got inf": inf}),
    ("minLength", 2, ["ab"], {"'x' must have at least 2 characters, got 1": "a"}),
    ("maxLength", 2, ["ab"], {"'x' must have at most 2 characters, got 3": "abc"}),
    ("pattern", "^a", ["ab"], {"'x' must match ^a, got \"ba\"": "ba"}),
    ("format", "date", ["2026-01-31"],
     {"'x' must be a date as in 2026-01-31, got \"2026-02-31\"": "2026-02-31"}),
    ("format", "date-time", ["2026-01-31T12:00:00Z"],
     {"'x' must be a date and time as in 2026-01-31T12:00:00Z, got \"now\"": "now"}),
    ("format", "time", ["12:30:00"], {"'x' must be a time as in 12:30:00, got \"25:00\"": "25:00"}),
    ("format", "uuid", ["12345678-1234-5678-1234-567812345678"],
     {"'x' must be a UUID, got \"1\"": "1"}),
    ("format", "decimal", ["-12.50", "3"],
     {"'x' must be a decimal number as in 12.50, got \"1.\"": "1.",
      "'x' must be a decimal number as in 12.50, got \"x1\"": "x1"}),
    ("format", "of somebody's own", ["anything"], {}),
    ("contentEncoding", "base64", ["aGk="], {"'x' must be base64 text, got \"a-k=\"": "a-k="}),
    ("contentEncoding", "quoted-printable", ["=?"], {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("keyword", "rule", "good", "bad"), TABLE, ids=[f"{row[0]} {row[1]}" for row in TABLE]
)
def test_an_assertion_tells_what_is_wrong_and_nothing_else(
    keyword: str, rule: object, good: list[object], bad: dict[str, object]
) -> None:
    """In one sentence for each thing that is wrong; of what is right it says nothing."""
    check, place = ASSERTIONS[keyword][1], Place({}).of("x")

    assert [list(check(value, rule, {}, place)) for value in good] == [[]] * len(good)
    assert ["|".join(check(value, rule, {}, place)) for value in bad.values()] == list(bad)
