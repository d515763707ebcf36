"""Waiting for what another process writes to files: by looking again and again."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Hashable
from pathlib import Path

LOOK_S = 0.02
"""How long what is written stays unseen. A look takes some microseconds."""
FOREIGN_S = 0.25
"""The same of what others write to any of many runs: a look takes some microseconds for each."""


def wait_for_change(
    mark: Callable[[], Hashable], is_there: Callable[[], bool], timeout_s: float
) -> bool:
    """Whether something `is_there` within a time; it is looked for where a cheap `mark` changes."""
    end = time.monotonic() + timeout_s
    while True:
        before = mark()
        if is_there():
            return True
        while mark() == before:
            left = end - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(LOOK_S, left))


class OwnEnds:
    """Knows how far this process has written files that others may write to as well."""

    def __init__(self) -> None:
        self._ends: dict[str, int] = {}  # of those that are asked for

    def keep(self, name: str, end: int) -> None:
        """This process is about to write a file up to there."""
        if name in self._ends:
            self._ends[name] = end

    def news(
        self, names: Callable[[], Collection[str]], path_of: Callable[[str], Path]
    ) -> Generator[Collection[str], None, None]:
        """The names of the files that are as long as this process has not made them.

        Raises:
            OSError: the size of one cannot be read.
        """
        seen: dict[str, int] = {}
        try:
            while True:
                now = {name: _size(path_of(name)) for name in names()}
                own = self._ends = {name: self._ends.get(name, -1) for name in now}
                yield [
                    name
                    for name, size in now.items()
                    if size != seen.get(name) and size != own[name]
                ]
                seen = now
                time.sleep(FOREIGN_S)
        finally:
            self._ends = {}


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
