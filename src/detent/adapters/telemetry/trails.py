"""Trails: where an error was raised, without what it says, which may quote an argument or a secret.

A traceback, as Python prints one, ends with that, and `KeyError` says nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from traceback import extract_tb

FRAMES = 8
"""So many functions are named of each error, those nearest to where it was raised."""


def trail_of(error: BaseException) -> str:
    """The type of an error, the functions it came through, and the same of what had led to it."""
    return "; because of ".join(map(_part, _causes(error)))


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _part(error: BaseException) -> str:
    frames = extract_tb(error.__traceback__)[-FRAMES:]
    places = " > ".join(f"{frame.name} ({frame.filename}:{frame.lineno})" for frame in frames)
    return f"{type(error).__name__} in {places}" if places else type(error).__name__
