"""Chance: the system's, and one for tests that begins the same each time."""

from __future__ import annotations

import os
import random
from threading import Lock

IDS = 256
"""So many ids are made at a time."""


class SystemChance:
    """Real chance: the ids are unlike those of any other process.

    The generator that the module `random` shares with everybody is left alone.
    """

    def __init__(self) -> None:
        self._random = random.Random()  # noqa: S311 - spreads attempts; nothing is secret
        self._ids: tuple[int, list[str]] = (0, [])

    def new_id(self) -> str:
        """Sixteen hexadecimal digits.

        Many are made ahead: each call of the system gives up the interpreter, which another thread
        may then keep for milliseconds. A fork has its own.
        """
        pid, ids = self._ids
        if pid != os.getpid() or not ids:
            drawn = os.urandom(8 * IDS).hex()
            ids = [drawn[start : start + 16] for start in range(0, len(drawn), 16)]
            self._ids = (os.getpid(), ids)
        try:
            return ids.pop()
        except IndexError:  # other threads have been faster
            return self.new_id()

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
