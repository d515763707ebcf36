"""What a rule says, in a form that is the same in every process."""

from __future__ import annotations

import re
from collections import deque
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from attrs import field, frozen
from pydantic import BaseModel, SecretStr

from detent.core.tools.version import hash_of, rule_of


@frozen
class Above:
    """A rule with an option, and with what it has learnt."""

    limit: object
    seen: set[int] = field(factory=set, init=False)

    def __call__(self, amount: int) -> bool:
        """Whether to ask."""
        return amount > 1


class Mode(Enum):
    """How strict it is."""

    STRICT = 0
    LAX = 10**9


class Named(BaseModel, extra="allow"):
    """An option with whatever it is given."""


class Plain:
    """A rule without any."""

    def should_ask(self, amount: int) -> bool:
        """Whether to ask."""
        return amount > 1


def power(base: int, exponent: int) -> int:
    return int(base**exponent)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Above(1), Above(2)),
        (Above([1]), Above([2])),
        (Above({"a": 1}), Above({"a": 2})),
        (Above({1}), Above({2})),
        (Above(Above(1)), Above(Above(2))),
        (Above(None), Above(b"")),
        (Above(Above), Above(Plain)),
        (Above(Decimal(100)), Above(Decimal(10**9))),
        (Above(Mode.STRICT), Above(Mode.LAX)),
        (Above(Fraction(1, 2)), Above(Fraction(1, 3))),
        (Above(timedelta(1)), Above(timedelta(2))),
        (Above(date(2026, 1, 1)), Above(date(2026, 1, 2))),
        (Above(re.compile("a")), Above(re.compile("b"))),
        (Above(SecretStr("a")), Above(SecretStr("b"))),
        (Above(deque([1])), Above(deque([2]))),
        (Above({Mode.LAX: 1}), Above({Mode.STRICT: 1})),
        (Above({Decimal(1)}), Above({Decimal(2)})),
        (Above(Named.model_validate({"limit": 1})), Above(Named.model_validate({"limit": 2}))),
        (partial(power, 1), partial(power, 2)),
        (lambda amount: amount > 1, lambda amount: amount > 2),
        (Plain(), Above(1)),
    ],
)
def test_another_rule_is_another(one: object, other: object) -> None:
    """By its class, its options or its code."""
    assert hash_of(rule_of(one)) != hash_of(rule_of(other))


def test_what_it_has_learnt_is_no_part_of_it() -> None:
    """Else a yes would lapse by being remembered."""
    learnt = Above({"b": 1, "a": {1, 2}})
    learnt.seen.add(7)

    assert hash_of(rule_of(learnt)) == hash_of(rule_of(Above({"a": {2, 1}, "b": 1})))
    assert hash_of(rule_of(Plain())) == hash_of(rule_of(Plain()))


def test_an_option_is_the_same_in_every_process() -> None:
    """Nothing in it has an address, also where it is a key."""
    made = [rule_of(Above({Plain(): 1, (Mode.LAX,): {Mode.LAX, Mode.STRICT}})) for _ in range(2)]

    assert hash_of(made[0]) == hash_of(made[1])


def test_a_rule_that_is_in_itself_has_an_end() -> None:
    """Of what is very deep, the class counts alone."""
    loop: list[Any] = []
    loop.append(Above(loop))

    assert hash_of(rule_of(loop)) == hash_of(rule_of(loop))
