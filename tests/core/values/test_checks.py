"""What users hand to constructors: what was expected, what came, what was meant."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest
from attrs import field, frozen

from detent.core.values.checks import meant, names_told, near_name, no_attribute, number, of_kind


@names_told
@frozen
class Order:
    """Has an option of each kind."""

    item: str = field(default="tea", validator=of_kind(str, "a text"))
    note: str | None = field(default=None, validator=of_kind(str, "a text", or_none=True))
    count: int = field(default=1, validator=number(1, is_whole=True))
    price: float | None = field(default=None, validator=number(0, or_none=True))
    change: float = field(default=0, validator=number(-inf))


def test_what_is_right_is_taken() -> None:
    """By place, by name, and None where it is said."""
    assert Order("milk", None, 2, 1.5, -3).price == 1.5
    assert Order(note="cold", price=None).note == "cold"


@pytest.mark.parametrize(
    ("wrong", "kind", "text"),
    [
        ({"item": 3}, TypeError, "'item' of Order is a text, got 3"),
        ({"item": None}, TypeError, "'item' of Order is a text, got None"),
        ({"note": 3}, TypeError, "'note' of Order is a text or None, got 3"),
        ({"count": "3"}, TypeError, "'count' of Order is a whole number, 1 or more, got '3'"),
        ({"count": 1.5}, TypeError, "'count' of Order is a whole number, 1 or more, got 1.5"),
        ({"count": True}, TypeError, "'count' of Order is a whole number, 1 or more, got True"),
        ({"count": 0}, ValueError, "'count' of Order is a whole number, 1 or more, got 0"),
        ({"price": nan}, ValueError, "'price' of Order is a number, 0 or more, or None, got nan"),
        ({"change": "x"}, TypeError, "'change' of Order is a number, got 'x'"),
    ],
)
def test_what_is_wrong_is_told(wrong: dict[str, Any], kind: type[Exception], text: str) -> None:
    """Which option of what, what it should be, and what it was."""
    with pytest.raises(kind) as told:
        Order(**wrong)
    assert str(told.value) == text


@pytest.mark.parametrize(("name", "meant"), [("itm", "did you mean 'item'? It"), ("xyz", "it")])
def test_an_option_that_there_is_not_is_told(name: str, meant: str) -> None:
    """With all that there are, and the one that may have been meant."""
    with pytest.raises(TypeError) as told:
        Order(**{name: 1})  # type: ignore[arg-type]  # the mistake
    names = "item, note, count, price, change"
    assert str(told.value) == f"Order has no option {name!r}; {meant} has {names}"


def test_a_name_that_is_near_is_meant() -> None:
    """One that is not is no guess."""
    assert meant("wating", iter(("waiting", "done"))) == "; did you mean 'waiting'?"
    assert not meant("gone", ("waiting", "failed"))


def test_an_attribute_that_there_is_not_leads_to_what_is_meant() -> None:
    """By what others call it, or by what is near."""
    led = no_attribute(3, "plus", {"plus": "the sign"})
    assert str(led) == "'int' object has no attribute 'plus'; did you mean the sign?"
    near = no_attribute(3, "reel", {})
    assert (str(near), near.name, near.obj) == ("'int' object has no attribute 'reel'", "reel", 3)


def test_no_long_name_is_compared_with_others() -> None:
    """A model may make one up, and to compare it takes as long as it is, with each other one."""
    assert near_name("wating", ["waiting", "x" * 1_000]) == "waiting"
    assert near_name("w" * 101, ["w" * 100]) is None
    assert near_name("w" * 100, ["w" * 101]) is None
