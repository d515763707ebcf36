"""What a JSON value may give as members of sets is found before anybody makes a set of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterator
from decimal import Decimal
from fractions import Fraction
from ipaddress import IPv6Interface, IPv6Network
from itertools import count, islice
from typing import Any
from uuid import UUID

import pytest

from detent.core.values.hashed_parts import LONGEST, Shape, hashed_parts
from detent.core.values.hashes import FEW, MOST, require_spread

PRIME = 2**61 - 1
MANY = FEW + 1
REFUSED = f"more than {MOST} different values of one hash"
INT_A, INT_B = {"a": {"type": "integer"}}, {"b": {"type": "integer"}}
PAIR = Shape.of({"properties": {**INT_A, **INT_B}, "required": ["a", "b"]})
WIDTH = 64
LANE, TURN, AFTER = 11400714785074694791, 31, 14029467366897019727
START = 2870177450012600261


def pairs_of_one_hash() -> Iterator[tuple[int, int]]:
    """Tuples that Python gives one hash, whose numbers have many: the second follows of the first.

    Python takes the hash of a tuple by what can be undone: it multiplies, turns and adds.
    """
    most = 1 << WIDTH
    multiply, turned = AFTER, 12345
    for first in count(1):
        state = (START + first * multiply) % most
        state = (state << TURN | state >> (WIDTH - TURN)) % most * LANE % most
        second = (turned - state) * pow(multiply, -1, most) % most
        if second < PRIME:
            yield first, second


PAIRS = [*islice(pairs_of_one_hash(), MANY)]
on_64_bits = pytest.mark.skipif(sys.hash_info.width != WIDTH, reason="its tuples differ")


@pytest.mark.parametrize(
    "write",
    [
        lambda n: n * PRIME,
        lambda n: str(n * PRIME),
        lambda n: f" +00{n * PRIME}.0 ",
        lambda n: f"{n * PRIME * 10}e-1",
        lambda n: f"{n * PRIME:_}",
        lambda n: str(n * PRIME).translate({48 + i: 0x660 + i for i in range(10)}),
        lambda n: f"{n * PRIME}/7",
        lambda n: str(UUID(int=n * PRIME)),
        lambda n: UUID(int=n * PRIME).hex,
        lambda n: UUID(int=n * PRIME).urn,
        lambda n: f"{{{UUID(int=n * PRIME)}}}",
        lambda n: str(IPv6Network((n * PRIME, 128))),
        lambda n: str(IPv6Interface((n * PRIME, 128))),
        lambda n: str(IPv6Interface((n * PRIME, 128)).ip),
        lambda n: f"{1000003 * n}-{n}j",
        lambda n: {str(n * PRIME): None},
        lambda n: {"a": [{"b": n * PRIME}]},
        lambda n: {"a": n * PRIME, "b": 1},
    ],
    ids=map(str, count()),
)
def test_parts_of_one_hash_are_found(write: Callable[[int], object]) -> None:
    """Whatever they are read as, and wherever they stand."""
    value = [write(n) for n in range(MANY)]
    with pytest.raises(ValueError, match=REFUSED):
        require_spread(hashed_parts(value))


@on_64_bits
@pytest.mark.parametrize(
    "write",
    [
        lambda a, b: [a, b],
        lambda a, b: [str(a), b],
        lambda a, b: [[a, b]],
        lambda a, b: {"a": a, "b": b},
        lambda a, b: {"b": b, "a": a},
        lambda a, b: {"in": [{"b": b, "a": a}]},
    ],
    ids=map(str, count()),
)
def test_tuples_of_one_hash_are_found(write: Callable[[int, int], object]) -> None:
    """Of numbers that have many, and in the order in which a class takes them."""
    assert len({*map(hash, PAIRS)}) == 1
    assert len({hash(part) for pair in PAIRS for part in pair}) == 2 * MANY
    with pytest.raises(ValueError, match=REFUSED):
        require_spread(hashed_parts([write(a, b) for a, b in PAIRS], [PAIR]))


@on_64_bits
def test_what_an_object_leaves_out_is_a_part_of_its_hash() -> None:
    """As it stands for it in the class."""
    first = PAIRS[0][0]
    shape = Shape.of({"properties": {"a": {"default": first}, **INT_B}, "required": ["b"]})
    assert (first, 5) in hashed_parts({"b": 5}, [shape])
    assert (1, 5) in hashed_parts({"b": 5, "a": 1}, [shape])


@pytest.mark.parametrize("value", [{"a": 1}, {"a": 1, "b": 2, "c": 3}])
def test_an_object_is_none_of_a_class_with_other_names(value: dict[str, Any]) -> None:
    """It lacks one, or has one more."""
    assert hashed_parts(value, [PAIR]) == [*value.values()]


@pytest.mark.parametrize(
    "value",
    [
        [*range(-1000, 1000)],
        [float(n) for n in range(1000)] + [n / 7 for n in range(1000)],
        [2.0**n for n in range(-1074, 1024)],
        [10**n for n in range(1000)],
        [1_700_000_000_000_000_000 + n for n in range(1000)],
        [(1 << 64) - n for n in range(1000)],
        [str(n) for n in range(1000)] + [f"00{n}.0" for n in range(1000)],
        [f"{n}/{n + 1}" for n in range(1000)],
        [str(UUID(int=(1 << 127) + n)) for n in range(1000)],
        [str(UUID(int=n << 64)) for n in range(1000)],
        [f"2001:db8::{n:x}/128" for n in range(1000)],
        [f"2001:db8:{n:x}::/48" for n in range(1000)],
        [PRIME] * 1000,
        [n % MOST * PRIME for n in range(1000)],
        [{"a": n, "b": -n} for n in range(1000)],
        [[n, n, None, True] for n in range(1000)],
        ["a text", "dead-beef", "1.2.3", "+", "urn:uuid:"] * 1000,
    ],
    ids=lambda value: str(value[:2]),
)
def test_parts_of_many_hashes_are_let_through(value: list[Any]) -> None:
    """Numbers, identifiers and texts as people have them, and many that are equal."""
    require_spread(hashed_parts(value, [PAIR]))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("1.50", [Decimal("1.5")]),
        (".5E+3", [Decimal(500)]),
        ("2/4", [Fraction(1, 2)]),
        ("1+2j", [1 + 2j]),
        ("::1/64", [IPv6Interface("::1/64"), IPv6Network("::/64")]),
        ("1/0", []),
        ("9" * 4400 + "/3", []),
        ("1e99999999999999999999", []),
        ("1" * (LONGEST + 1), []),
        ("12:30", []),
        ("-" * 32, []),
        ("nan", []),
        ("", []),
    ],
    ids=lambda x: str(x)[:20],
)
def test_a_text_is_what_it_may_be_read_as(text: str, parts: list[Hashable]) -> None:
    """And nothing where nobody reads it."""
    assert hashed_parts(text) == parts
    assert hashed_parts({text: True}) == parts


def test_tuples_in_tuples_are_looked_at_to_some_depth() -> None:
    """The hash of each takes that of all inside it."""
    value: Any = 1
    for _ in range(100):
        value = [value]
    assert hashed_parts(value) == [1, (1,), ((1,),), (((1,),),)]
