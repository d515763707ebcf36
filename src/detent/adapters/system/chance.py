"""Chance: the system's, and one for tests that begins the same each time."""

from __future__ import annotations

import os
import random
from threading import Lock


class SystemChance:
    """Real chance: the ids are unlike those of any other process.

    The generator that the module `random` shares with everybody is left alone.
    """

    def __init__(self) -> None:
        self._random = random.Random()  # noqa: S311 - spreads attempts; nothing is secret

    def new_id(self) -> str:
        """Sixteen hexadecimal digits."""
        return os.urandom(8).hex()

    def number(self) -> float:
        """A number from 0 up to 1."""
        return self._random.random()


class SeededChance:
    """The same ids and numbers in the same order, for the same `seed`. Only for tests."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)  # noqa: S311 - as above
        self._lock = Lock()

    def new_id(self) -> str:
        """Sixteen hexadecimal digits."""
        with self._lock:
            return f"{self._random.getrandbits(64):016x}"

    def number(self) -> float:
        """A number from 0 up to 1."""
        with self._lock:
            return self._random.random()
