"""The notices port: a journal that can say when something has been written to a run.

A journal need not have it; `isinstance(journal, Notices)` says whether it has.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Notices(Protocol):
    """Waits for what others write, in whatever process they are."""

    def wait(self, run_id: str, length: int, timeout_s: float) -> bool:
        """Wait until a run has another number of entries than `length`; block until then.

        Gives whether it has: at once when it has already, and False when the time is over.

        Raises:
            JournalError: the journal cannot be read.
        """
        ...
