"""Waiting for what another process writes to files: by looking again and again."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

LOOK_S = 0.02
"""How long what is written stays unseen. A look takes some microseconds."""


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
