"""The chance port: ids that nobody has yet, and numbers that nobody can foresee."""

from __future__ import annotations

from typing import Protocol


class Chance(Protocol):
    """What is left to chance in a run. Any thread may call it."""

    def new_id(self) -> str:
        """An id for a run, or for a process that goes on with one; no other has it."""
        ...

    def number(self) -> float:
        """A number from 0 up to 1: it spreads the next attempts of calls that failed together."""
        ...
