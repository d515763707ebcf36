"""The laws of the journal: every store keeps them, and a store that does not is found out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from itertools import repeat
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from attrs import evolve

from detent.adapters.journals.directory import DirectoryJournal
from detent.adapters.journals.memory import MemoryJournal
from detent.adapters.journals.sqlite import SQLiteJournal
from detent.ports.journal import (
    Checkpoint,
    Entry,
    JournalConflictError,
    JournalUnavailableError,
    require_next,
)
from detent.ports.laws.journal import (
    LAWS,
    MakeJournal,
    a_deleted_run_is_gone,
    a_listing_is_kept_whole_or_not_at_all,
    check_journal,
    many_writers_lose_nothing,
)
from detent.ports.listing import ALL_RUNS, Listing, RunQuery, StoredRun, page_of


def in_memory(place: Path) -> MakeJournal:
    """All handles are the same journal."""
    journal = MemoryJournal()
    return lambda: journal


MAKERS: dict[str, Callable[[Path], MakeJournal]] = {
    "memory": in_memory,
    "directory": lambda place: lambda: DirectoryJournal(place / "runs"),
    "sqlite": lambda place: lambda: SQLiteJournal(place / "runs.db"),
}


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("store", MAKERS)
def test_a_store_keeps_a_law(
    store: str, law: Callable[[MakeJournal], None], tmp_path: Path
) -> None:
    """Each one by itself."""
    law(MAKERS[store](tmp_path))


@pytest.mark.parametrize("store", MAKERS)
def test_a_store_keeps_all_laws(store: str, tmp_path: Path) -> None:
    """As a user checks it, on one store."""
    check_journal(MAKERS[store](tmp_path))


class Careless(MemoryJournal):
    """Takes what comes."""

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """Whatever the position says."""
        length = len(list(self.read(run_id)))
        placed = [evolve(entry, position=place) for place, entry in enumerate(entries, length)]
        super().append(run_id, placed, checkpoint)


class Broken(MemoryJournal):
    """Does one thing in another way: a method by its name."""

    def __init__(self, **does: Callable[..., Any]) -> None:
        super().__init__()
        for name, method in does.items():
            setattr(self, name, partial(method, super().__getattribute__(name)))


def shared(append: Any, run_id: str, new: Sequence[Entry], checkpoint: Any = None) -> None:
    """Nothing is refused: two writers that are at one place both win."""
    with suppress(JournalConflictError):
        append(run_id, new, checkpoint)


def half(append: Any, run_id: str, new: Sequence[Entry], checkpoint: Any = None) -> None:
    """What is refused has been written up to there."""
    with suppress(JournalConflictError, ValueError):
        append(run_id, new[1:], None)
    append(run_id, new, checkpoint)


def renamed(runs: Any, query: RunQuery = ALL_RUNS) -> list[StoredRun]:
    """An id is what a file can be called."""
    return [evolve(one, run_id=one.run_id.replace("/", "_")) for one in runs(query)]


def raising(method: Any, *given: object) -> Any:
    """A bug."""
    raise KeyError("a")


def listing_of_the_last(runs: Any, query: RunQuery = ALL_RUNS) -> list[StoredRun]:
    """What one entry has said is forgotten with the next."""
    return [evolve(one, pending=()) if one.length > 3 else one for one in runs(query)]


def renamed_agent(runs: Any, query: RunQuery = ALL_RUNS) -> list[StoredRun]:
    """A later entry says whose run it is."""
    return [evolve(one, agent="x") if one.pending else one for one in runs(query)]


def without(**names: None) -> Callable[..., Any]:
    """Something in the query counts for nothing."""
    return lambda runs, query=ALL_RUNS: runs(evolve(query, **names))


def inclusive(runs: Any, query: RunQuery = ALL_RUNS) -> list[StoredRun]:
    """A page begins with the last run of the one before."""
    whole = runs(evolve(query, before=None, limit=None))
    at = query.before
    return [one for one in whole if at is None or one.cursor <= at][: query.limit]


def cut_first(runs: Any, query: RunQuery = ALL_RUNS) -> list[StoredRun]:
    """The page is cut, and then looked at for what fits."""
    page = runs(RunQuery(before=query.before, limit=query.limit))
    return [one for one in page if query.fits(one)]


def by_time_alone(runs: Any, query: RunQuery = ALL_RUNS) -> list[StoredRun]:
    """Runs of one time stand as they come."""
    found = sorted(runs(evolve(query, limit=None)), key=lambda one: one.run_id)
    return sorted(found, key=lambda one: one.at, reverse=True)[: query.limit]


PAGE = "a page is a part of the list"
BROKEN: tuple[tuple[dict[str, Callable[..., Any]], str], ...] = (
    ({"read": lambda read, *at: read(*at)[::-1]}, "what was appended is read back, in order"),
    ({"read": lambda read, run_id, start=0: read(run_id)}, "reading starts at any position"),
    ({"read": lambda read, _, start=0: read("a", start)}, "a run that is not there has no entries"),
    ({"append": shared}, "an append at any place but the end is refused"),
    ({"append": half}, "a refused append changes nothing"),
    ({"append": raising}, r"Entries come back equal and in order.*\(KeyError: 'a'\)"),
    ({"checkpoints": lambda of, run_id: []}, "a checkpoint comes back as it was"),
    ({"checkpoints": lambda of, run_id: of(run_id)[-1:]}, "all checkpoints come in order"),
    (
        {"runs": lambda runs, *page: runs(*page)[::-1]},
        "runs are listed with length, status and time",
    ),
    (
        {"runs": lambda runs, *page: [evolve(one, length=1) for one in runs(*page)]},
        "runs are listed with",
    ),
    ({"runs": renamed}, "any text can be the id"),
    ({"runs": without(limit=None)}, PAGE),
    ({"runs": without(before=None)}, PAGE),
    ({"runs": without(status=None)}, PAGE),
    ({"runs": without(agent=None)}, PAGE),
    ({"runs": without(thread_id=None)}, PAGE),
    ({"runs": without(label=None)}, PAGE),
    ({"runs": inclusive}, PAGE),
    ({"runs": cut_first}, PAGE),
    ({"runs": by_time_alone}, "in the order of times and ids"),
    ({"runs": listing_of_the_last}, "a list says what the last entry has said"),
    ({"runs": renamed_agent}, "a list says what the last entry has said"),
)


@pytest.mark.parametrize("place", range(len(BROKEN)))
def test_a_store_that_breaks_a_law_is_found_out(place: int) -> None:
    """The message is the law, whatever the store does in its place."""
    does, law = BROKEN[place]
    journal = Broken(**does)
    with pytest.raises(AssertionError, match=f"the store breaks a law: .*({law})"):
        check_journal(lambda: journal)


class Handle(MemoryJournal):
    """One of several handles on a store, with something of its own in between."""

    def __init__(self, store: MemoryJournal) -> None:
        super().__init__()
        self.store = store
        self.seen: dict[str, list[Entry]] = {}
        self.is_refused = False

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the store does."""
        self.store.append(run_id, entries, checkpoint)

    def read(self, run_id: str, start: int = 0) -> list[Entry]:
        """As the store does."""
        return [*self.store.read(run_id, start)]

    def checkpoints(self, run_id: str) -> list[Checkpoint]:
        """As the store does."""
        return [*self.store.checkpoints(run_id)]

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[StoredRun]:
        """As the store does."""
        return self.store.runs(query)

    def delete(self, run_id: str) -> None:
        """As the store does."""
        self.store.delete(run_id)


class Remembering(Handle):
    """Reads what it has read before from its memory."""

    def read(self, run_id: str, start: int = 0) -> list[Entry]:
        """What it has once seen there."""
        if not self.seen.get(run_id):
            self.seen[run_id] = super().read(run_id)
        return self.seen[run_id][start:]


class Counting(Handle):
    """Knows the length of a run by what it has written itself."""

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """Refused for ever once it was."""
        if self.is_refused:
            raise JournalConflictError(run_id, entries[0].position, 0)
        try:
            super().append(run_id, entries, checkpoint)
        except JournalConflictError:
            self.is_refused = bool(self.seen.setdefault(run_id, []) or entries[0].position > 1)
            raise


class Welcoming(Handle):
    """Takes what it has already for written."""

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """Once; the second time it says the same."""
        if self.read(run_id, entries[0].position)[: len(entries)] != list(entries):
            super().append(run_id, entries, checkpoint)


class Vague(Handle):
    """Does not say where the end of a run is."""

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """Refused with what is wanted."""
        try:
            super().append(run_id, entries, checkpoint)
        except JournalConflictError as error:
            raise JournalConflictError(run_id, error.expected, error.expected) from None


class Absent(Handle):
    """Says of a refusal that the store is away."""

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """So that it is tried again, in vain."""
        try:
            super().append(run_id, entries, checkpoint)
        except JournalConflictError as error:
            raise JournalUnavailableError("locked") from error


class Eager(Handle):
    """Keeps a checkpoint before it looks whether it may."""

    def checkpoints(self, run_id: str) -> list[Checkpoint]:
        """Also of what was refused."""
        return [*super().checkpoints(run_id), *self.left]

    left: tuple[Checkpoint, ...] = ()

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """With what it leaves."""
        try:
            super().append(run_id, entries, checkpoint)
        except JournalConflictError:
            self.left = () if checkpoint is None else (checkpoint,)
            raise


class Reviving(Handle):
    """Begins a run that was deleted anew, in its middle."""

    gone: dict[str, int]

    def delete(self, run_id: str) -> None:
        """And remember how long it was."""
        self.store.delete(run_id)
        Reviving.gone = {run_id: 1}

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """Whatever was deleted."""
        if entries[0].position > 3 and not self.read(run_id):
            entries = [evolve(one, position=at) for at, one in enumerate(entries)]
        super().append(run_id, entries, checkpoint)


REBASED: dict[type[Handle], str] = {
    Remembering: "who is refused reads what the other wrote",
    Counting: "JournalConflictError: the journal of run 'a' has 0 entries",
    Welcoming: "is refused",
    Vague: "a refusal says where the end is",
    Absent: "JournalUnavailableError: locked",
    Eager: "a refused append leaves no checkpoint",
    Reviving: "nothing is written behind a run that was deleted",
}
"""Stores with which a driver would lose what it holds, or write what does not count."""


@pytest.mark.parametrize("kind", REBASED, ids=lambda kind: kind.__name__)
def test_a_store_with_which_nobody_goes_on_is_found_out(kind: type[Handle]) -> None:
    """Each time by what a driver needs whose append was refused."""
    store = MemoryJournal()
    with pytest.raises(AssertionError, match=f"the store breaks a law: .*{REBASED[kind]}"):
        check_journal(lambda: kind(store))


class Plain(MemoryJournal):
    """A simple store: it keeps nothing for lists, and looks at all runs for a page."""

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """Without the listings."""
        super().append(run_id, [evolve(one, listing=None) for one in entries], checkpoint)

    def runs(self, query: RunQuery = ALL_RUNS) -> list[StoredRun]:
        """By the helper for such stores."""
        return page_of(super().runs(), query)


def test_a_store_without_listings_keeps_the_laws() -> None:
    """They are a help for lists, and no run needs them."""
    journal = Plain()
    check_journal(lambda: journal)


def test_what_one_run_leaves_for_lists_is_not_the_next_one_s() -> None:
    """An id can be used again."""

    class Sticky(MemoryJournal):
        def append(
            self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
        ) -> None:
            first = entries[0]
            if first.position == 0 and first.listing is None:
                entries = [evolve(first, listing=Listing("clerk")), *entries[1:]]
            super().append(run_id, entries, checkpoint)

    journal = Sticky()
    with pytest.raises(AssertionError, match="has left nothing for lists"):
        a_listing_is_kept_whole_or_not_at_all(lambda: journal)


def test_a_store_that_deletes_nothing_is_found_out() -> None:
    """By the law about it."""
    journal = Broken(delete=lambda delete, run_id: None)
    with pytest.raises(AssertionError, match="nothing is left of it"):
        a_deleted_run_is_gone(lambda: journal)


def test_handles_that_are_stores_of_their_own_are_found_out() -> None:
    """Every call of `make` gives a handle on the same store."""
    with pytest.raises(AssertionError, match=r"from any position. \(JournalConflictError: "):
        check_journal(MemoryJournal)


def test_a_store_that_takes_what_comes_is_found_out() -> None:
    """It puts entries at the end, wherever they belong."""
    journal = Careless()
    with pytest.raises(AssertionError, match="an append at any place but the end is refused"):
        check_journal(lambda: journal)


def test_a_store_whose_writers_race_is_found_out() -> None:
    """Two of them pass the check of the place before either has written."""

    class Racing(MemoryJournal):
        def append(
            self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
        ) -> None:
            if entries[0].position:
                length = len(self.read(run_id))
                together.wait()
                require_next(run_id, entries, length)
                with suppress(JournalConflictError):
                    super().append(run_id, entries)
            else:
                super().append(run_id, entries, checkpoint)

    together = Barrier(4)
    journal = Racing()
    with pytest.raises(AssertionError, match="exactly one wins"):
        many_writers_lose_nothing(lambda: journal)


class Unlocked(MemoryJournal):
    """Nothing comes between the check of the place and the writing but what threads do."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, list[Entry]] = {}

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """What is kept is made before that: no value of ours is looked at any more."""
        ready = list(entries)
        kept = self.kept.setdefault(run_id, [])
        require_next(run_id, ready, len(kept))
        kept.extend(ready)

    def read(self, run_id: str, start: int = 0) -> list[Entry]:
        """As the port says."""
        return self.kept.get(run_id, [])[start:]

    def runs(self, query: RunQuery = ALL_RUNS) -> list[StoredRun]:
        """As the port says, nearly."""
        return [StoredRun(name, len(kept), "running", 1.0) for name, kept in self.kept.items()]

    def delete(self, run_id: str) -> None:
        """As the port says."""
        self.kept.pop(run_id, None)


def test_a_store_without_a_lock_is_found_out() -> None:
    """Each time: two writers meet at every line of it."""
    for _ in range(50):
        journal = Unlocked()
        with pytest.raises(AssertionError, match="exactly one wins"):
            check_journal(repeat(journal).__next__)


def test_files_without_a_lock_are_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where every handle has files of its own open."""
    monkeypatch.setattr("detent.adapters.journals.lines.alone", nullcontext)
    with pytest.raises(AssertionError, match="the store breaks a law"):
        check_journal(lambda: DirectoryJournal(tmp_path))


def test_entries_must_follow_each_other() -> None:
    """Within one append there is no gap, and something is appended."""
    first, third = Entry(0, 0.0, "a", "running", {}), Entry(2, 0.0, "a", "running", {})
    with pytest.raises(ValueError, match="do not follow each other"):
        require_next("r", [first, third], 0)
    with pytest.raises(ValueError, match="nothing to append"):
        require_next("r", [], 0)
