"""The promises of the chance port as checks: run them against one of your own.

def test_my_chance():
    check_chance(MyChance)
"""

from __future__ import annotations

from collections.abc import Callable

from detent.ports.chance import Chance
from detent.ports.laws.breaking import expect

TIMES = 1000
CHANCE = "the chance"


def check_chance(make: Callable[[], Chance]) -> None:
    """Check that a chance keeps what the `Chance` port promises.

    Raises:
        AssertionError: it does not; the message is the law that it breaks.
    """
    chance = make()
    ids = {chance.new_id() for _ in range(TIMES)}
    expect(len(ids) == TIMES, CHANCE, "an id is given once")
    expect(all(isinstance(new_id, str) and new_id for new_id in ids), CHANCE, "an id is a text")
    numbers = [chance.number() for _ in range(TIMES)]
    expect(all(0 <= new_id < 1 for new_id in numbers), CHANCE, "a number is from 0 up to 1")
    expect(len(set(numbers)) > TIMES / 2, CHANCE, "numbers differ")
