"""Filling in: a default counts wherever it stands in a schema."""

from __future__ import annotations

from typing import Any

import pytest

from detent.core.schema.filling import Filling

AMOUNT = {"properties": {"amount": {"default": 9000}}}
TO = {"properties": {"to": {"type": "string"}}}
NEEDS_TO = {**TO, "required": ["to"]}
WHOLE = {"to": "Ann", "amount": 9000}


def filled(schema: Any, **sent: object) -> dict[str, Any]:
    """What a schema makes of arguments."""
    return Filling(schema).filled(sent)


@pytest.mark.parametrize(
    "schema",
    [
        {**TO, "allOf": [AMOUNT]},
        {**TO, "allOf": [True, {"allOf": [AMOUNT]}]},
        {**TO, "$ref": "#/$defs/pay", "$defs": {"pay": AMOUNT}},
        {**AMOUNT, "anyOf": [{"required": ["to"]}, {"required": ["iban"]}]},
        {**TO, "if": {"required": ["to"]}, "then": AMOUNT},
        {**TO, "if": AMOUNT},
        {**TO, "if": {"required": ["iban"]}, "else": AMOUNT},
        {**TO, "dependentSchemas": {"to": AMOUNT}},
        {"anyOf": [NEEDS_TO, AMOUNT]},
        {"oneOf": [{"required": ["iban"]}, AMOUNT]},
        {"anyOf": [{**NEEDS_TO, "additionalProperties": False}, AMOUNT]},
        {"properties": {"amount": {"$ref": "#/$defs/nine"}}, "$defs": {"nine": {"default": 9000}}},
        {"properties": {"amount": {"anyOf": [{"type": "null"}, {"default": 9000}]}}},
        {"properties": {"amount": {"if": True, "else": {"default": 9000}}}},
    ],
)
def test_a_default_counts_wherever_it_stands(schema: Any) -> None:
    """Also in what the value may be, if what reads it may take it for that."""
    assert filled(schema, to="Ann") == WHOLE
    assert filled(schema, **WHOLE, more=1) == {**WHOLE, "more": 1}


def test_what_does_not_speak_of_a_value_fills_nothing_in() -> None:
    """Of other things, of other kinds, and of what must not be."""
    other = {"if": {"required": ["iban"]}, "then": AMOUNT, "dependentSchemas": {"iban": AMOUNT}}

    assert filled(other, to="Ann") == {"to": "Ann"}
    assert filled({"if": True, "else": AMOUNT}, to="Ann") == {"to": "Ann"}
    assert filled({"anyOf": [{"required": ["iban"]}, NEEDS_TO, False]}, to="A") == {"to": "A"}
    assert filled({"not": {**AMOUNT, "required": ["x"]}}, to="Ann") == {"to": "Ann"}


def test_what_is_filled_in_may_make_a_value_fit_what_has_more() -> None:
    """The defaults of the first that it fits come first, and it may then fit no other one."""
    kind = {"properties": {"kind": {"default": "wire"}}}
    wire = {"properties": {"kind": {"const": "wire"}}, "required": ["kind"]}
    card = {"properties": {"kind": {"const": "card", "default": "card"}, "fee": {"default": 1}}}

    assert filled({**kind, "if": wire, "then": AMOUNT}) == {"kind": "wire", "amount": 9000}
    assert filled({"anyOf": [card, {**kind, **AMOUNT, "not": card}]}) == {"kind": "card", "fee": 1}


def test_where_it_goes_on_for_long_each_default_counts() -> None:
    """Each makes the value fit the next: after some, all of them are taken to fit."""
    rules = [
        {"if": {"required": [f"n{n}"]}, "then": {"properties": {f"n{n + 1}": {"default": n}}}}
        for n in range(30)
    ]

    assert filled({"allOf": rules[::-1]}, n0=0) == {"n0": 0} | {f"n{n + 1}": n for n in range(30)}


def test_what_is_read_as_the_first_that_it_fits_is_filled_in_as_that() -> None:
    """Where that is known; of another one, which it fits as well, nothing is taken."""
    part = {"anyOf": [NEEDS_TO, AMOUNT]}
    whole = Filling({"properties": {"a": part, "b": part}}, frozenset({"a"}))

    both = {"a": {"to": "Ann"}, "b": {"to": "Ann"}}
    assert whole.filled(both) == {"a": {"to": "Ann"}, "b": WHOLE}
    assert whole.filled({}) == {}


def test_defaults_are_filled_in_themselves() -> None:
    """However deep, but for one that stands in itself."""
    order = {"default": {}, "properties": {"amount": {"default": 9000}}}
    loop = {"default": {}, "properties": {"next": {"$ref": "#/$defs/loop"}}}

    assert filled({"properties": {"order": order}}) == {"order": {"amount": 9000}}
    endless = {"properties": {"next": {"$ref": "#/$defs/loop"}}, "$defs": {"loop": loop}}
    assert filled(endless) == {"next": {"next": {}}}


def test_names_by_patterns_and_all_others_are_filled_in() -> None:
    """Each by what speaks of it."""
    schema = {
        "properties": {"a": {"type": "object"}},
        "patternProperties": {"^p": AMOUNT},
        "additionalProperties": {"properties": {"rest": {"default": 1}}},
    }

    found = filled(schema, a={}, p={}, q={})
    assert found == {"a": {}, "p": {"amount": 9000}, "q": {"rest": 1}}


def test_the_items_of_an_array_are_filled_in() -> None:
    """By their places, all others, those of a kind that it must contain, and those left out."""
    rows = {
        "prefixItems": [AMOUNT, {"default": 1}, {"default": 2}, {}, {"default": 3}],
        "items": {"properties": {"rest": {"default": 1}}},
    }
    some = {"contains": {"properties": {"x": True, "y": {"default": 2}}, "required": ["x"]}}

    assert filled({"properties": {"a": rows}}, a=[{}]) == {"a": [{"amount": 9000}, 1, 2]}
    assert filled({"properties": {"a": rows}}, a=[{}, 0, 0, 0, 0, {}])["a"][5:] == [{"rest": 1}]
    assert filled({"properties": {"a": some}}, a=[{"x": 1}, {}]) == {"a": [{"x": 1, "y": 2}, {}]}
    assert filled({"properties": {"a": {"items": AMOUNT}}}, a=[{}]) == {"a": [{"amount": 9000}]}


def test_options_may_lead_anywhere_in_the_schema() -> None:
    """To its root, and to a property, as references may."""
    schema = {
        "properties": {
            "to": {"type": "string"},
            "amount": {"default": 1},
            "in": {
                "anyOf": [
                    {
                        "properties": {"of": {"$ref": "#"}, "n": {"$ref": "#/properties/to"}},
                        "required": ["of"],
                    },
                    {"properties": {"rest": {"default": 2}}},
                ]
            },
        },
    }
    bad, good = {"of": {"to": 1}}, {"of": {"to": "Ann"}, "n": "x"}

    assert filled(schema, **{"in": bad})["in"] == {"of": {"to": 1}, "rest": 2}
    assert filled(schema, **{"in": good})["in"] == {
        "of": {"to": "Ann", "amount": 1}, "n": "x", "rest": 2
    }  # fmt: skip


def test_each_part_of_a_value_is_come_to_once() -> None:
    """Though everything speaks of it several times, at each of a hundred levels."""
    inner = {"properties": {"next": {"allOf": [{"$ref": "#"}, {"$ref": "#"}], "anyOf": [True, {}]}}}
    value: dict[str, Any] = {}
    for _ in range(100):
        value = {"next": value}

    whole = Filling({**inner, "allOf": [{"properties": {"n": {"default": 1}}}]}).filled(value)
    for _ in range(101):
        assert whole["n"] == 1
        whole = whole.get("next", {})
