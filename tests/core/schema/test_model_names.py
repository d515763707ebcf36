"""What pydantic drops of a value is found, wherever in it that is."""

from __future__ import annotations

import re
from dataclasses import InitVar
from dataclasses import dataclass as stdlib_dataclass
from typing import Annotated, Any

import pytest
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    model_validator,
)
from pydantic.dataclasses import dataclass

from detent import tool
from detent.core.schema.conversion import ConversionError, convert, plain_as_read
from detent.core.schema.model_names import no_float, unread


class Leaf(BaseModel):
    """One field."""

    a: int = 0


@dataclass(slots=True)
class Slim:
    """A dataclass of pydantic whose instances have no dict, and one value that is no field."""

    a: int = 0
    seed: InitVar[int] = 0


class Tree(BaseModel):
    """All kinds of parts."""

    leaf: Leaf = Leaf()
    slim: Slim = Field(default_factory=Slim)
    leaves: list[Leaf] = []
    named: dict[str, Leaf] = {}
    some: Annotated[list[Leaf], AfterValidator(lambda items: items[:1])] = []
    anything: Any = None


class Kept(BaseModel):
    """A field with three names, and whatever else."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    a: int = Field(0, validation_alias=AliasChoices("first", "second"))


class ByName(BaseModel):
    """Its alias is not read."""

    model_config = ConfigDict(validate_by_alias=False, validate_by_name=True)

    a: int = Field(0, alias="other")


class Older(BaseModel):
    """Its own code reads what an older version of it wrote."""

    a: int = 0

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        return {"a": data.get("b", data.get("a"))}


class Checked(BaseModel):
    """Its own code looks at it afterwards."""

    a: int = 0

    @model_validator(mode="after")
    def _look(self) -> Checked:
        return self


class Leaves(RootModel[list[Leaf]]):
    """A list as a class."""


@pytest.mark.parametrize(
    ("kind", "value", "places"),
    [
        (Leaf, {"a": 1}, []),
        (Leaf, {"a": 1, "b": 2}, [".b"]),
        (Tree, {"leaf": {"a": 1}, "slim": {"a": 1, "seed": 3}}, []),
        (Tree, {"leaf": {"b": 1}, "slim": {"b": 1}}, [".leaf.b", ".slim.b"]),
        (
            Tree,
            {"leaves": [{}, {"b": 1}], "named": {"x": {"b": 1}}},
            [".leaves[1].b", ".named.x.b"],
        ),
        (Tree, {"some": [{"b": 1}, {}], "anything": {"b": [1]}}, []),
        (Kept, {"first": 1, "b": 2}, []),
        (Kept, {"first": 1, "a": 2}, [".a"]),
        (ByName, {"a": 1}, []),
        (ByName, {"other": 1}, [".other"]),
        (Older, {"b": 1}, []),
        (Checked, {"b": 1}, [".b"]),
        (Leaves, [{}, {"b": 1}], ["[1].b"]),
    ],
)
def test_each_name_that_is_not_read_is_found(kind: Any, value: Any, places: list[str]) -> None:
    """In all its parts, unless code of a class reads it."""
    made = kind.model_validate(value)
    assert sorted(place for place, _ in unread(value, made)) == places


def test_the_name_of_a_field_that_is_called_otherwise_is_told() -> None:
    """It is what somebody meant."""
    with pytest.raises(ConversionError, match=r"'x\.a' .* is not known; it is called 'first'"):
        convert({"a": 1}, Kept, "x")


def test_the_next_type_of_a_union_takes_what_a_model_would_drop() -> None:
    """As it takes what a dataclass has no field for."""
    assert convert({"b": 1}, Leaf | dict[str, int], "x") == {"b": 1}


@stdlib_dataclass
class Cell:
    """A record inside a model."""

    share: float


class Sheet(BaseModel):
    """Floats in all places."""

    share: float = 0
    shares: list[float] = []
    by_name: dict[str, float] = {}
    cell: Cell | None = None
    exact: int | float = 0
    euros: Annotated[float, AfterValidator(lambda cents: cents / 100)] = 0


ODD = 2**53 + 1
HUGE = 10**400


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"share": ODD}, "share"),
        ({"share": 10**22 + 1}, "share"),
        ({"shares": [1, ODD]}, "shares[1]"),
        ({"by_name": {"a": ODD}}, "by_name.a"),
        ({"cell": {"share": ODD}}, "cell.share"),
    ],
)
def test_a_float_of_a_model_is_the_number_that_was_written(value: Any, place: str) -> None:
    """As anywhere else: people have been shown that one."""
    with pytest.raises(
        ConversionError, match=re.escape(f"'x.{place}' cannot be used: no float is")
    ):
        convert(value, Sheet, "x")


@pytest.mark.parametrize(
    "value", [{"share": 10**22}, {"exact": ODD}, {"euros": 150}, {"share": 1, "shares": [0.1, 2]}]
)
def test_a_number_that_is_a_float_is_read(value: Any) -> None:
    """Nor is one another that code of the class has made of it."""
    assert convert(value, Sheet, "x") == Sheet.model_validate(value)


def test_the_nearest_of_what_is_too_large_is_infinite() -> None:
    """It is never compared with a float that cannot be made."""
    assert "the nearest is inf" in no_float(HUGE, float("inf"))
    assert not no_float(HUGE, 1.5)
    assert not no_float(ODD, ODD)


class Price(BaseModel):
    """A field with another name."""

    amount: int = Field(5, alias="amountEUR")


class Offer(BaseModel):
    """Prices in all places."""

    price: Price = Price()
    more: list[Price] = []
    named: dict[str, Price] = Field({}, validation_alias="byName")


class Offers(RootModel[list[Offer]]):
    """A list by itself."""


def test_a_default_has_the_names_by_which_it_is_read() -> None:
    """Who changes a part of what is shown sends the rest as it was shown."""
    six = Price(amountEUR=6)
    offer = Offer(price=six, more=[six], byName={"amount": six})
    shown: dict[str, Any] = {"price": {"amountEUR": 6}, "more": [{"amountEUR": 6}]}
    shown["byName"] = {"amount": {"amountEUR": 6}}

    assert plain_as_read(offer) == shown
    assert plain_as_read(Offers([offer])) == [shown]
    assert convert(shown, Offer, "x") == offer
    assert plain_as_read({"amount"}) == ["amount"]

    def pay(offer: Offer = offer) -> str:
        """Pay."""
        return ""

    made = tool(pay)
    assert made.parameters["properties"]["offer"]["default"] == shown
    assert made.defaults["offer"] == shown
