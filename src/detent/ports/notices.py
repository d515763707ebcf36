"""The notices port: a journal that can say when something has been written to a run.

A journal need not have it; `isinstance(journal, Notices)` says whether it has.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from detent.ports.journal import Journal


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


@runtime_checkable
class ForeignNotices(Protocol):
    """Tells, of many runs at once, which of them others write to.

    "Others" are all that do not write by this very object: other processes, above all.
    """

    def from_others(
        self, run_ids: Callable[[], Collection[str]]
    ) -> Generator[Collection[str], None, None]:
        """The ids of runs, some at a time, as others write to them.

        Each item is waited for in the caller's thread, for half a second at most: one that is empty
        says that nothing has come. The first has all runs, as nobody knows what came before. Who
        has enough closes the generator. A run may be named to which nobody else has written.

        Args:
            run_ids: the runs that are asked for at the moment.

        Raises:
            JournalError: the journal cannot be read.
        """
        ...


def foreign_notices_of(journal: Journal) -> ForeignNotices | None:
    """Who tells what others write; None where nobody can.

    A journal that stands for another one has that, as its attribute `notices`.
    """
    found: Any = getattr(journal, "notices", journal)
    # each run asks: a look at the whole protocol takes ten times as long
    return found if callable(getattr(found, "from_others", None)) else None
