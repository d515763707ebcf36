"""The laws of chance: ours keep them, and one that does not is found out."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from detent.machine import SystemChance
from detent.ports.chance import Chance
from detent.testing import SeededChance, check_chance


@pytest.mark.parametrize("make", [SystemChance, SeededChance])
def test_ours_keeps_the_laws(make: Callable[[], Chance]) -> None:
    """The system's and the seeded one."""
    check_chance(make)


def chance(new_id: Callable[[], Any], number: Callable[[], Any]) -> Any:
    """One that gives these."""
    return type("Fixed", (), {"new_id": staticmethod(new_id), "number": staticmethod(number)})


numbers = SystemChance().number


@pytest.mark.parametrize(
    ("make", "law"),
    [
        (chance(lambda: "1", numbers), "an id is given once"),
        (chance(count().__next__, numbers), "an id is a text"),
        (chance(SystemChance().new_id, lambda: 1 + numbers()), "a number is from 0 up to 1"),
        (chance(SystemChance().new_id, lambda: 0), "numbers differ"),
    ],
)
def test_one_that_breaks_a_law_is_found_out(make: Callable[[], Chance], law: str) -> None:
    """The message is the law."""
    with pytest.raises(AssertionError, match=f"the chance breaks a law: {law}"):
        check_chance(make)
