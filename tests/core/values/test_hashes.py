"""Values of one hash are counted before a set is built of them: that would take their square."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from uuid import UUID

import pytest

from detent.core.values.hashes import FEW, MOST, require_spread

PRIME = 2**61 - 1
"""What Python takes the hash of a number by: all its multiples have the hash of 0."""

MANY = FEW + 1
REFUSED = f"more than {MOST} different values of one hash"


class Counted:
    """A value of a hash that it is told, which counts how often it is compared."""

    compared = 0

    def __init__(self, number: int, its_hash: int) -> None:
        self.number, self._hash = number, its_hash

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return isinstance(other, Counted) and self.number == other.number


@pytest.mark.parametrize(
    "make",
    [
        lambda n: n * PRIME,
        lambda n: -1 - n * PRIME,
        lambda n: Decimal(n * PRIME),
        lambda n: UUID(int=n * PRIME),
        lambda n: (1, n * PRIME),
        lambda n: frozenset({n * PRIME}),
    ],
    ids=["int", "negative", "Decimal", "UUID", "tuple", "frozenset"],
)
def test_many_values_of_one_hash_are_refused(make: Callable[[int], object]) -> None:
    """Whatever they are: a model can choose the hash of all but texts."""
    values = [make(n) for n in range(MANY)]
    assert len({*map(hash, values)}) == 1
    with pytest.raises(ValueError, match=REFUSED):
        require_spread(values)
    with pytest.raises(ValueError, match=REFUSED):
        require_spread(values[:MOST], values[MOST:])


@pytest.mark.parametrize(
    "make",
    [lambda n: n, str, float, lambda n: (n, n), lambda n: n % MOST * PRIME],
    ids=["int", "str", "float", "tuple", "few differ"],
)
def test_values_of_many_hashes_are_let_through(make: Callable[[int], object]) -> None:
    """And so are many of one hash, if few of them differ."""
    require_spread([make(n) for n in range(10 * MANY)])


def test_few_values_and_texts_are_not_looked_at() -> None:
    """Nobody has to wait for a few; the hash of a text nobody knows beforehand."""

    class Text(str):
        __slots__ = ()

        def __hash__(self) -> int:
            raise AssertionError

    unhashable: list[object] = [[]] * FEW
    require_spread(unhashable)
    require_spread(["x"] * MANY)
    require_spread([b"x", "y"], unhashable * 2)
    with pytest.raises(AssertionError):
        require_spread([Text("x")] * MANY)


@pytest.mark.parametrize("hashes", [1, MANY])
def test_few_comparisons_find_them(hashes: int) -> None:
    """Linear in the values, however many hashes are crowded, and whether or not too many are."""
    values = [Counted(n % (MOST * hashes), n % hashes) for n in range(4 * MOST * hashes)]
    Counted.compared = 0
    require_spread(values)
    assert Counted.compared <= MOST * len(values)
    values += [Counted(0, -2)]  # alone in its hash: it is compared with none
    values += [Counted(-n, 0) for n in range(1, 2 * len(values))]
    Counted.compared = 0
    with pytest.raises(ValueError, match=REFUSED):
        require_spread(values)
    assert Counted.compared <= MOST * len(values)
