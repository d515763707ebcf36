"""Unions in unions: what reads them looks at each part of a value a few times, or refuses it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from detent.core.schema.conversion import ConversionError, convert
from detent.core.schema.validation import MORE, Validator
from detent.core.schema.work import WORK_MAX, Effort, Work


class Quote(BaseModel):
    """One of two that all fit."""

    parts: list[Quote | Item] = []


class Item(BaseModel):
    """The other."""

    parts: list[Quote | Item] = []


class Named(BaseModel):
    """One whose parts have another name."""

    parts: list[Named | Item] = Field(default=[], validation_alias="p")


class Add(BaseModel):
    """One of two that say which they are."""

    kind: Literal["add"] = "add"
    parts: list[Annotated[Add | Times, Field(discriminator="kind")]] = []


class Times(BaseModel):
    """The other."""

    kind: Literal["times"] = "times"
    parts: list[Annotated[Add | Times, Field(discriminator="kind")]] = []


class Left(BaseModel):
    """One of two with fields of their own."""

    left: list[Left | Right]


class Right(BaseModel):
    """The other."""

    right: list[Left | Right]


made: list[str] = []


@dataclass
class First:
    """Refuses what the second takes, after all in it has been read."""

    parts: list[First | Second] = field(default_factory=list)
    bad: str = ""

    def __post_init__(self) -> None:
        made.append("first")
        if self.bad:
            raise ValueError(f"is {self.bad}")


@dataclass
class Second:
    """Takes what the first refuses, if it is not too bad."""

    parts: list[First | Second] = field(default_factory=list)
    bad: str = ""

    def __post_init__(self) -> None:
        made.append("second")
        if self.bad == "too bad":
            raise ValueError("is too bad")


def chain(levels: int, name: str = "parts", **more: Any) -> dict[str, Any]:
    """A value in a value, so deep."""
    value: dict[str, Any] = {name: [], **more}
    for _ in range(levels):
        value = {name: [value], **more}
    return value


def test_a_record_in_unions_is_made_once_of_each_part_and_type() -> None:
    """Each type of a union reads the same parts."""
    made.clear()
    value = convert(chain(50, bad="bad"), First | Second, "x")

    assert (made.count("first"), made.count("second")) == (51, 51)
    assert all(isinstance(part, Second) for part in (value, value.parts[0]))


def test_what_no_type_of_unions_takes_is_said_a_few_times() -> None:
    """Not once for each way to the part that is wrong."""
    made.clear()
    with pytest.raises(ConversionError) as caught:
        convert(chain(50, bad="too bad"), First | Second, "x")

    assert len(made) == 2
    assert len(caught.value.faults) == 1


def test_a_part_that_stands_in_two_places_is_read_for_each() -> None:
    """Whoever changes one does not change the other."""
    part: dict[str, Any] = {"parts": []}
    value = convert({"parts": [part, part]}, First | Second, "x")

    assert value.parts[0] is not value.parts[1]


@pytest.mark.parametrize("kind", [Quote, list[Quote | Item]])
def test_what_pydantic_would_try_too_often_is_refused(kind: Any) -> None:
    """By a count: it takes twice as long with each level."""
    few, many = ([x] if kind is not Quote else x for x in (chain(8), chain(60)))

    assert convert(few, kind, "x")
    with pytest.raises(ConversionError, match="the schema is at fault: its unions stand in unions"):
        convert(many, kind, "x")


def test_what_holds_all_else_for_long_is_refused() -> None:
    """Pydantic reads a model in one go: nothing else happens meanwhile, in no other thread either.

    However little it is for each part, and however few parts each of many models has.
    """
    long: list[dict[str, Any]] = [{} for _ in range(WORK_MAX // 3)]
    with pytest.raises(ConversionError, match="or in long lists"):
        convert({"parts": long}, Quote, "x")
    with pytest.raises(ConversionError, match="the schema is at fault"):
        convert([chain(14)] * 20, list[Quote], "x")
    assert len(convert(long[:20_000], list[Quote], "x")) == 20_000


def test_what_is_too_much_is_not_counted_on() -> None:
    """Each further type and each further part would be counted, to be refused as well."""
    effort, work = Effort(), Work(Quote.model_json_schema())
    with pytest.raises(ValueError, match="the schema is at fault"):
        effort.add(work, chain(60))
    pairs = effort.pairs
    with pytest.raises(ValueError, match="the schema is at fault"):
        effort.add(work, {})
    assert effort.pairs == pairs


def test_other_names_are_counted_too() -> None:
    """Which no schema says all of."""
    with pytest.raises(ConversionError, match="the schema is at fault"):
        convert({"p": [chain(60)]}, Named, "x")


def test_what_says_which_it_is_is_read_at_any_depth() -> None:
    """By a discriminator, or by fields of its own."""
    assert convert(chain(60, kind="times") | {"kind": "add"}, Add, "x").parts[0].kind == "times"
    assert convert(chain(60, "left"), Left, "x").left
    assert not Work(Add.model_json_schema()).has_choices


def test_many_parts_are_no_much_work() -> None:
    """A long list takes as long as it is."""
    value: dict[str, Any] = {"parts": [{"parts": [{}]} for _ in range(2_500)]}
    work, known = Work(Quote.model_json_schema()), dict[Any, int]()

    assert work.has_choices
    assert WORK_MAX > work.looks(value, work.root, known) < 4 * len(known)
    effort = Effort()
    effort.add(work, value)
    assert effort.pairs == len(known)


def test_a_model_that_pydantic_cannot_describe_is_read() -> None:
    """Nothing of it is counted."""

    class Odd(BaseModel):
        n: int

        @classmethod
        def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
            raise ValueError

    assert convert({"n": 1}, Odd, "x") == Odd(n=1)


def tagged(kinds: int, keyword: str = "anyOf") -> dict[str, Any]:
    """A schema of objects that say what they are."""
    options = [{"$ref": f"#/$defs/f{n}"} for n in range(kinds)]
    parts = {"type": "array", "items": {keyword: options}}
    made = {f"f{n}": {"properties": {"kind": {"const": n}, "parts": parts}} for n in range(kinds)}
    return {"properties": {"x": {"$ref": "#/$defs/f0"}}, "$defs": made}


def wide(levels: int) -> dict[str, Any]:
    """Three in each, of which the last are wrong."""
    return {"kind": 0, "parts": [wide(levels - 1)] * 3} if levels else {"kind": "none"}


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_what_is_wrong_in_many_options_of_options_is_not_looked_for(keyword: str) -> None:
    """That would try each of all, which takes so many times longer with each level."""
    test = Validator(tagged(4, keyword))

    assert "must" in test.faults({"x": wide(1)})[0]
    told = "'x.parts[0]' must fit one of 4 forms; it would take too long to say what is wrong with"
    assert test.faults({"x": wide(4)}) == [f"{told} each", MORE]


def test_rows_and_names_of_all_kinds_are_counted() -> None:
    """By what speaks of each."""
    pair = {"prefixItems": [{"type": "string"}, {"$ref": "#"}], "items": True}
    rows = {"additionalProperties": {"anyOf": [pair, True]}}

    assert Work(rows).looks({"a": ["x", {"b": []}, 1]}, rows, {}) == 8
    assert Work(rows).looks(1, False, {}) == 0  # noqa: FBT003 - a schema
    assert not Work(True).has_choices  # noqa: FBT003 - a schema


def test_what_may_be_left_out_is_no_choice() -> None:
    """Of nothing and a model, one has parts."""
    assert not Work({"anyOf": [{"type": "null"}, {"type": "object"}]}).has_choices


def test_what_only_the_library_follows_is_not_counted() -> None:
    """It says itself what is wrong."""
    other = {"$id": "urn:other", "$defs": {"n": {"anyOf": [{"type": "integer"}]}}}
    test = Validator({"properties": {"x": {"$ref": "urn:other#/$defs/n"}}, "$defs": {"o": other}})

    assert test.faults({"x": {}}) == ["'x' must be an integer, got {}"]
