"""What a function has been given by a `partial` counts by its value, where it is one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from detent import Tool


def made(given: object) -> str:
    return Tool("pay", "", {"type": "object"}, partial(pay, given)).version


def pay(given: object, amount: int) -> str:
    """Pay."""
    return f"{given}{amount}"


VALUES: dict[str, Callable[[Any], object]] = {
    "a slice": slice,
    "a slice's start": lambda of: slice(of, 9),
    "a slice's step": lambda of: slice(0, 9, of),
    "a method of a text": lambda of: f"{of}".upper,
    "a method of bytes": lambda of: f"{of}".encode().hex,
    "a method of a number": lambda of: of.__add__,
    "a method of a tuple": lambda of: (of, "a").index,
    "a method of a frozenset": lambda of: frozenset({of, "a"}).union,
    "a method in a list": lambda of: [f"{of}".join],
}


@pytest.mark.parametrize("name", VALUES)
def test_another_value_makes_another_version(name: str) -> None:
    """And the same one the same."""
    one, same, other = (made(VALUES[name](of)) for of in (1, 1, 2))

    assert one == same
    assert one != other


def test_methods_of_what_fills_while_a_program_runs_count_by_its_class() -> None:
    """A log or a cache would have each question put anew."""
    log = list[int]()
    before = made(log.append)
    log.append(1)

    assert made(log.append) == before
    assert made(log.extend) != before
    assert made(print) != made(len)
