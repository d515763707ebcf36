"""Filling in: a default counts wherever it stands in a schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import inf
from time import perf_counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.core.schema import filling
from detent.core.schema.filling import FILLED_MAX, TRIED_MAX, Filled, Filling
from detent.core.schema.validation import Validator

AMOUNT = {"properties": {"amount": {"default": 9000}}}
TO = {"properties": {"to": {"type": "string"}}}
NEEDS_TO = {**TO, "required": ["to"]}
WHOLE = {"to": "Ann", "amount": 9000}


def filled(schema: Any, **sent: object) -> dict[str, Any]:
    """What a schema makes of arguments, which is clear."""
    found = Filling(schema).filled(sent)
    assert found == Filled(found.value)
    return found.value


def unclear(schema: Any, **sent: object) -> list[str]:
    """What of arguments must be said, which the schema leaves as it is."""
    found = Filling(schema).filled(sent)
    return [".".join(map(str, place)) for place in found.unclear]


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
        {"anyOf": [{**NEEDS_TO, **AMOUNT}, AMOUNT]},
        {"anyOf": [NEEDS_TO, {}], **AMOUNT},
        {"oneOf": [{"required": ["iban"]}, AMOUNT]},
        {"properties": {"amount": {"$ref": "#/$defs/nine"}}, "$defs": {"nine": {"default": 9000}}},
        {"properties": {"amount": {"anyOf": [{"type": "null"}, {"default": 9000}]}}},
        {"properties": {"amount": {"if": True, "else": {"default": 9000}}}},
    ],
)
def test_a_default_counts_wherever_it_stands(schema: Any) -> None:
    """Also in what the value may be, if nothing that reads it takes it for another."""
    assert filled(schema, to="Ann") == WHOLE
    assert filled(schema, **WHOLE, more=1) == {**WHOLE, "more": 1}


def test_what_does_not_speak_of_a_value_fills_nothing_in() -> None:
    """Of other things, of other kinds, and of what must not be."""
    other = {"if": {"required": ["iban"]}, "then": AMOUNT, "dependentSchemas": {"iban": AMOUNT}}

    assert filled(other, to="Ann") == {"to": "Ann"}
    assert filled({"if": True, "else": AMOUNT}, to="Ann") == {"to": "Ann"}
    assert filled({"anyOf": [{"required": ["iban"]}, NEEDS_TO, False]}, to="A") == {"to": "A"}
    assert filled({"not": {**AMOUNT, "required": ["x"]}}, to="Ann") == {"to": "Ann"}


MODE = {"properties": {"mode": {"enum": ["fast", "slow"], "default": "slow"}}}
FORCED = {"properties": {"force": {"default": True}}}
CALM = {"properties": {"force": {"default": False}}}
FAST = {"properties": {"mode": {"const": "fast"}}}
CARD = {"properties": {"kind": {"const": "card"}, "express": {"default": True}}}
WIRE = {"properties": {"kind": {"const": "wire"}, "fee": {"default": 5}}}


def test_a_condition_is_decided_by_the_value_as_it_will_be() -> None:
    """What the other branch, or another option, would fill in stays out."""
    branches = {**MODE, "if": FAST, "then": FORCED, "else": CALM}
    later = {"allOf": [{"if": FAST, "then": FORCED, "else": CALM}, MODE]}
    kinds = {"properties": {"kind": {"default": "wire"}}, "oneOf": [CARD, WIRE]}

    for schema in (branches, later):
        assert filled(schema) == filled(schema, mode="slow") == {"mode": "slow", "force": False}
        assert filled(schema, mode="fast") == {"mode": "fast", "force": True}
    assert filled(kinds, amount=1) == {"kind": "wire", "fee": 5, "amount": 1}


def test_what_is_filled_in_may_make_a_value_fit_what_has_more() -> None:
    """Also after another condition has filled in what decides."""
    chosen = {"if": {"required": ["to"]}, "then": MODE}
    branches = {"if": FAST, "then": FORCED, "else": CALM}
    rules = [
        {"if": {"required": [f"n{n}"]}, "then": {"properties": {f"n{n + 1}": {"default": n}}}}
        for n in range(8)
    ]

    whole = {"to": "Ann", "mode": "slow", "force": False}
    assert filled({"allOf": [branches, chosen]}, to="Ann") == whole
    assert filled({"allOf": rules[::-1]}, n0=0) == {"n0": 0} | {f"n{n + 1}": n for n in range(8)}


def test_what_comes_to_no_end_must_be_said() -> None:
    """Where each default takes away what it was there for, or one makes the next for long."""
    rules = [
        {"if": {"required": [f"n{n}"]}, "then": {"properties": {f"n{n + 1}": {"default": n}}}}
        for n in range(30)
    ]
    turns = {"if": {"required": ["on"]}, "else": {"properties": {"on": {"default": True}}}}

    assert unclear(turns) == ["on"]
    assert unclear(turns, on=False) == []
    assert unclear({"allOf": rules[::-1]}, n0=0) == ["n9"]


def test_options_that_fill_in_other_things_fill_in_nothing() -> None:
    """What reads the value takes one of them, and nobody knows which: the call must say it."""
    both = {"anyOf": [CARD, WIRE]}
    listed = {"anyOf": [{"items": AMOUNT}, {"items": TO}]}

    assert unclear(both) == ["express", "fee"]
    assert Filling(both).filled({"to": 1}).value == {"to": 1}
    assert unclear(both, express=False) == ["fee"]
    assert unclear(both, express=False, fee=0) == unclear(both, kind="card") == []
    assert unclear({"anyOf": [NEEDS_TO, AMOUNT]}, to="Ann") == ["amount"]
    assert unclear({"properties": {"a": listed}}, a=[{}, {}]) == ["a.0.amount", "a.1.amount"]
    assert unclear({"properties": {"a": both}}, a={}) == ["a.express", "a.fee"]
    others: tuple[Any, ...] = (1, True), ([], {}), ({"x": 1}, {"x": "1"})  # two are one for Python
    for values in others:
        parts = [{"properties": {"n": {"default": value}}} for value in values]
        assert unclear({"anyOf": parts})[0].startswith("n")


def test_what_is_left_out_has_the_one_default_of_its_options() -> None:
    """It fits none of them: there is nothing to choose by."""
    options = {"anyOf": [{"type": "null"}, {"default": 1}, {"if": True, "then": {"default": 1}}]}
    others = {"anyOf": [*options["anyOf"], {"default": 2}]}

    assert filled({"properties": {"n": options}}) == {"n": 1}
    assert unclear({"properties": {"n": others}}) == ["n"]
    assert filled({"properties": {"n": {"default": 3, **others}}}) == {"n": 3}


def test_what_is_read_as_the_first_that_it_fits_is_filled_in_as_that() -> None:
    """However deep, or in so many objects in objects; of another one nothing is taken."""
    part = {"anyOf": [NEEDS_TO, AMOUNT]}
    within = {"properties": {"x": part}}
    whole = Filling(
        {"properties": {"a": within, "b": within, "c": {"items": part}}}, {"a": inf, "b": 1, "c": 1}
    )

    ann = {"to": "Ann"}
    found = whole.filled({"a": {"x": ann}, "c": [ann]})
    assert found == Filled({"a": {"x": ann}, "c": [ann]})
    assert whole.filled({"b": {"x": ann}}).unclear == (("b", "x", "amount"),)
    assert whole.filled({}).value == {}


def test_defaults_are_filled_in_themselves() -> None:
    """However deep."""
    order = {"default": {}, "properties": {"amount": {"default": 9000}}}

    assert filled({"properties": {"order": order}}) == {"order": {"amount": 9000}}


def bomb(wide: int, deep: int) -> dict[str, Any]:
    """A schema whose defaults multiply with each level."""
    if not deep:
        return {"default": 1}
    return {"properties": {"z": {"default": [{}] * wide, "items": bomb(wide, deep - 1)}}}


def known(names: int) -> dict[str, Any]:
    """A schema of definitions that have each other by default."""
    parts = {f"p{n}": {"$ref": f"#/$defs/d{n}"} for n in range(names)}
    made = {f"d{n}": {"default": {}, "properties": parts} for n in range(names)}
    return {"properties": parts, "$defs": made}


@pytest.mark.parametrize("schema", [bomb(100, 4), bomb(20, 4), known(1), known(8), known(40)])
def test_no_more_is_filled_in_than_anybody_needs(schema: dict[str, Any]) -> None:
    """Also where it would have no end: nothing is, and soon."""
    begun = perf_counter()
    assert Filling(schema).filled({}) == Filled({}, is_too_much=True)
    assert perf_counter() - begun < 5, "which took a minute and more"


@pytest.mark.parametrize("deep", [20, 21, 60, 120])
def test_options_in_options_are_followed_so_deep(deep: int) -> None:
    """Where several of each fit, each is tried, on a stack that goes no deeper than that."""
    option = {"properties": {"in": {"$ref": "#/$defs/some"}, "n": {"default": 1}}}
    some = {"anyOf": [option, {**option, "title": "another"}]}
    value: dict[str, Any] = {}
    for _ in range(deep - 1):
        value = {"in": value}

    found = Filling({**some, "$defs": {"some": some}}).filled(value)
    assert found.is_too_much == (deep > TRIED_MAX)
    assert not found.unclear


def test_much_is_filled_in() -> None:
    """Up to a bound, which is that of what it is as JSON."""
    whole = filled(bomb(28, 3))

    assert len(whole["z"]) == len(whole["z"][0]["z"]) == 28
    assert FILLED_MAX * 0.9 < len(json.dumps(whole)) < FILLED_MAX
    assert Filling(bomb(28, 3), most=FILLED_MAX // 2).filled({}).is_too_much


def test_what_fits_no_tool_is_left_as_it_is() -> None:
    """What is deeper than a call may be, or no JSON."""
    deep: Any = {}
    for _ in range(150):
        deep = {"a": deep}

    for value in (deep, {"n": inf}):
        assert Filling(AMOUNT).filled(value) == Filled(value)


NAMES = st.sampled_from("abc")
VALUES = st.sampled_from([0, 1, "x"])
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=2)


def wider(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas that have others in them."""
    some = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.fixed_dictionaries({"allOf": some}),
        st.fixed_dictionaries({"anyOf": some}),
        st.fixed_dictionaries({"oneOf": some}),
        st.fixed_dictionaries({"if": inner, "then": inner, "else": inner}),
        st.fixed_dictionaries({"dependentSchemas": st.dictionaries(NAMES, inner, max_size=2)}),
        st.fixed_dictionaries({"properties": st.dictionaries(NAMES, inner, max_size=2)}),
    )


PLAIN = st.one_of(
    st.builds(lambda n, x: {"properties": {n: {"default": x}}}, NAMES, VALUES),
    st.builds(lambda n, x: {"properties": {n: {"const": x, "default": x}}}, NAMES, VALUES),
    st.builds(lambda n, x: {"properties": {n: {"const": x}}}, NAMES, VALUES),
    st.builds(lambda n: {"required": [n]}, NAMES),
    st.builds(lambda n, x: {"properties": {n: {"default": x}}}, NAMES, OBJECTS),
)


@given(st.recursive(PLAIN, wider, max_leaves=8), OBJECTS)
def test_what_is_filled_in_is_all_that_there_is_to_fill_in(schema: Any, sent: Any) -> None:
    """Once more changes nothing, what was written stays, and each option of the result agrees."""
    whole = Filling(schema)
    found = whole.filled(sent)

    assert found.value | sent == found.value
    if not found.unclear:
        assert whole.filled(found.value) == found
        for option in schema.get("anyOf", ()):
            if Validator(option).fits(found.value):
                again = Filling(option).filled(found.value)
                assert again.unclear or again == found


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
    assert unclear(schema, **{"in": good}) == ["in.of.amount", "in.rest"]


def test_each_part_of_a_value_is_come_to_once() -> None:
    """Though everything speaks of it several times, at each of a hundred levels."""
    inner = {"properties": {"next": {"allOf": [{"$ref": "#"}, {"$ref": "#"}], "anyOf": [True, {}]}}}
    value: dict[str, Any] = {}
    for _ in range(100):
        value = {"next": value}

    whole = filled({**inner, "allOf": [{"properties": {"n": {"default": 1}}}]}, **value)
    for _ in range(101):
        assert whole["n"] == 1
        whole = whole.get("next", {})


class Looked(dict[str, Any]):
    """A schema that counts how often it is asked for what it says."""

    looks = 0

    def get(self, name: str, default: Any = None) -> Any:
        """What it says."""
        Looked.looks += 1
        return super().get(name, default)


def looks(part: Any, value: Any, **others: Any) -> int:
    """How often a part of a schema is asked for what it says of a value."""
    schema = {"properties": {"x": part, "n": {"default": 1}}, **others}
    whole = Filling(schema)
    Looked.looks = 0
    assert whole.filled({"x": value}) == Filled({"x": value, "n": 1})
    return Looked.looks


ROWS = Looked(items=Looked(items={"type": "integer"}), default=[[1]])


@pytest.mark.parametrize(
    ("part", "others"),
    [
        (ROWS, {}),
        (Looked({}), {}),
        (Looked(anyOf=[ROWS, Looked(type="null")], default=None), {}),
        (Looked(additionalProperties=ROWS, properties={"a": ROWS["items"]}), {}),
        (Looked({"$ref": "#/$defs/rows"}), {"$defs": {"rows": ROWS["items"], "n": {"default": 1}}}),
        (
            Looked({"$ref": "#/$defs/tree"}),
            {"$defs": {"tree": Looked(items=Looked({"$ref": "#/$defs/tree"}), default=[])}},
        ),
    ],
    ids=["lists", "anything", "optional", "objects", "reference", "tree"],
)
def test_a_part_in_which_nothing_is_filled_in_is_not_gone_through(part: Any, others: Any) -> None:
    """However much a model writes there, and whatever stands for the part itself."""
    rows = [[n] for n in range(1000)]
    is_object = "additionalProperties" in part
    assert looks(part, {"b": rows} if is_object else rows, **others) < 10


@pytest.mark.parametrize("tree", [{"items": {"$ref": "#/$defs/t"}}, {"$ref": "#/$defs/t"}])
def test_a_part_that_leads_to_a_default_by_references_is_gone_through(tree: Any) -> None:
    """However far they go, and in a circle."""
    part = {"properties": {"to": {"$ref": "#/$defs/u"}, "amount": {"default": 9000}}}
    schema = {
        "properties": {"x": tree},
        "$defs": {"t": {"allOf": [{"$ref": "#/$defs/u"}]}, "u": {**part, "items": tree}},
    }
    inner = {"amount": 1, "to": {}}
    value, expected = (inner, {"amount": 1, "to": {"amount": 9000}})
    if "items" in tree:
        assert filled(schema, x=[value]) == {"x": [expected]}
    else:
        assert filled(schema, x=value) == {"x": expected}


@pytest.mark.parametrize("lost", ["#/$defs/none", "#/$defs/none/0", "urn:other"])
def test_what_is_called_a_reference_and_is_none_hides_no_default(lost: str) -> None:
    """A property may have that name; a reference that leads nowhere leads to no default."""
    schema = {"properties": {"$ref": AMOUNT, "x": {"items": {"$ref": lost}}}}
    assert filled(schema, **{"$ref": {}, "x": [[]]}) == {"$ref": {"amount": 9000}, "x": [[]]}


def tree(levels: int, name: str = "parts") -> dict[str, Any]:
    """A value with two like it in it, and so on."""
    return {name: [tree(levels - 1), tree(levels - 1)]} if levels else {}


def forms(kinds: int) -> dict[str, Any]:
    """So many objects that any of them may stand in; each says so in words of its own."""
    made = {}
    for n in range(kinds):
        options = [{"$ref": f"#/$defs/f{(n + more) % kinds}"} for more in range(kinds)]
        parts = {"items": {"anyOf": options, "title": str(n)}, "default": []}
        made[f"f{n}"] = {"type": "object", "properties": {"parts": parts}}
    return {"properties": {"x": {"$ref": "#/$defs/f0"}}, "$defs": made}


@pytest.mark.parametrize("kinds", [3, 6])
def test_options_of_options_are_tried_once_for_each_part(
    kinds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many fit: twice the parts are twice the work."""
    fills: list[int] = []

    def counted(self: Any, *args: Any) -> Any:
        fills[-1] += 1
        return true_fill(self, *args)

    true_fill = filling._Walk._fill
    monkeypatch.setattr(filling._Walk, "_fill", counted)
    for levels in (4, 5, 6, 7):
        fills.append(0)
        found = Filling(forms(kinds)).filled({"x": tree(levels)})
        assert found.value["x"]["parts"][0] == found.value["x"]["parts"][1]
        assert not found.is_too_much
        assert not found.unclear

    assert fills[-1] < 2.3 * fills[-2] < 2.3**2 * fills[-3]


def test_equal_options_are_one() -> None:
    """What is said twice is looked at once."""
    option = {"properties": {"n": {"default": 1}}}
    again = dict(option)
    twice = {"anyOf": [option, again, {"$ref": "#/$defs/it"}], "$defs": {"it": option}}
    found = Filling(twice)

    assert found.filled({}) == Filled({"n": 1})
    assert found.meaning({"$ref": "#/$defs/it"}) is option
    assert found.meaning(True) is True  # noqa: FBT003 - a schema
    assert found.first(again) in (option, again)
    assert found.first(again) is found.first(option)


def test_options_that_are_tried_too_often_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a count, and not by the clock."""
    monkeypatch.setattr(filling, "FILLS_MAX", 8)
    monkeypatch.setattr(filling, "EACH_MAX", 2)

    assert Filling(forms(6)).filled({"x": tree(3)}).is_too_much
    assert not Filling(AMOUNT).filled({"x": tree(7)}).is_too_much


def test_what_is_filled_in_is_counted_over_all_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each round begins anew: in ten of them it would take ten times as long."""
    monkeypatch.setattr(filling, "EACH_MAX", 0)
    for most, is_too_much in ((80, True), (200, False)):
        monkeypatch.setattr(filling, "FILLS_MAX", most)
        assert Filling(forms(2)).filled({"x": tree(2)}).is_too_much is is_too_much


def test_a_part_of_many_names_takes_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each name is looked at whenever the part is filled in."""
    monkeypatch.setattr(filling, "EACH_MAX", 2)
    for many, is_too_much in ((10, False), (1_000, True)):
        monkeypatch.setattr(filling, "FILLS_MAX", 40)
        value = {"x": {**tree(1), **dict.fromkeys(map(str, range(many)), 1)}}
        assert Filling(forms(2)).filled(value).is_too_much is is_too_much


def chained(kinds: int) -> dict[str, Any]:
    """A list of what has one more name for each that it has."""
    links = [
        {"if": {"required": [f"p{n}"]}, "then": {"properties": {f"p{n + 1}": {"default": n}}}}
        for n in range(kinds)
    ]
    return {"properties": {"x": {"items": {"allOf": links}}}}


def labelled(kinds: int) -> dict[str, Any]:
    """A list of what says which of so many forms it has."""
    options = [
        {"properties": {"kind": {"const": n}, "n": {"default": n}}, "required": ["kind"]}
        for n in range(kinds)
    ]
    return {"properties": {"x": {"items": {"anyOf": options}}}}


@pytest.mark.parametrize("schema", [chained, labelled])
def test_conditions_and_options_are_counted(
    schema: Callable[[int], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is asked for each part: 600 conditions and 100 rows took some seconds."""
    tried: list[object] = []

    true_fits = Filling.fits

    def counted(self: Filling, value: object, option: Any) -> bool:
        tried.append(option)
        return true_fits(self, value, option)

    monkeypatch.setattr(Filling, "fits", counted)
    few, many = {"x": [{"kind": 1}] * 100}, {"x": [{"p0": 0, "kind": n} for n in range(100)]}

    assert not Filling(schema(3)).filled(few).is_too_much
    tried.clear()
    assert Filling(schema(600)).filled(many).is_too_much
    assert len(tried) < 2 * 600 * 100
