"""The first entry of a run, for whoever wants no more: it alone says which run it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from detent.ports.journal import Entry, JournalDamagedError, RunNotFoundError


def first_and_rest(
    run_id: str, first: Entry | None, read: Callable[[], Iterable[Entry]]
) -> Iterator[Entry]:
    """The entries of a run. They are read, all at once, when somebody wants more than the `first`.

    `first` is None where it is not there, or is not sound: then they say so.

    Raises:
        JournalDamagedError: what stands behind the first one is damaged.
        RunNotFoundError: somebody has deleted the run in between.
    """
    if first is not None:
        yield first
    entries = iter(read())
    if first is not None:
        try:
            again = next(entries, None)
        except JournalDamagedError as error:
            if error.whole:
                raise
            raise JournalDamagedError(str(error), run_id, 1) from error  # so much was given
        if again is None or (again.at, again.text) != (first.at, first.text):
            raise RunNotFoundError(f"run {run_id!r} was deleted while it was read")
    yield from entries
