"""Shrinking: what fails is made small, so that one sees why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def fewest(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> tuple[T, ...]:
    """A part of `items`, in order, that still fails, and of which no single item can be left out.

    Larger pieces are tried first, so that much goes at once.

    >>> fewest(range(100), lambda items: 3 in items and 97 in items)
    (3, 97)
    """
    left = tuple(items)
    size = len(left)
    while size > 0:
        at = 0
        removed = False
        while at < len(left):
            without = left[:at] + left[at + size :]
            if fails(without):
                left, removed = without, True
            else:
                at += size
        size = size if removed and size == 1 else size // 2
    return left
