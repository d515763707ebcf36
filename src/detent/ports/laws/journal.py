"""The promises of the ports as checks: run them against an adapter of your own.

def test_my_journal(tmp_path):
    check_journal(lambda: MyJournal(tmp_path))
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import product
from threading import Barrier
from typing import overload

from detent.ports.journal import (
    Checkpoint,
    Entry,
    Journal,
    JournalConflictError,
)
from detent.ports.laws.breaking import PATIENCE_S, expect, in_time, races
from detent.ports.listing import (
    ALL_RUNS,
    NO_LISTING,
    Listing,
    RunQuery,
    StoredRun,
    page_of,
)
from detent.ports.names import NAME_MAX

PAUSE_S = 0.0005
"""Seconds for which entries linger: long enough for another thread to be let in."""

MakeJournal = Callable[[], Journal]
"""Opens the store under test: each call a new handle on the same, at first empty, store."""

ODD = {"text": 'lines\nand "quotes" \\ 🔒 \x00 \ud800', "n": [1, 2.5, True, None, {}], "big": 2**60}


def check_journal(make: MakeJournal) -> None:
    """Check that a store keeps what the `Journal` port promises.

    Args:
        make: opens the store. Every call must give a handle on the same store, which is empty at
            first.

    Raises:
        AssertionError: it does not; the message is the law that it breaks.
    """
    for law in LAWS:
        journal = make()
        for run in journal.runs():
            journal.delete(run.run_id)
        try:
            law(make)
        except AssertionError:
            raise
        except Exception as error:
            sentence = f"{(law.__doc__ or '').strip()} ({type(error).__name__}: {error})"
            raise AssertionError(f"the store breaks a law: {sentence}") from error


def what_was_appended_is_read_back(make: MakeJournal) -> None:
    """Entries come back equal and in order, also through another handle and from any position."""
    make().append("a", entries(0, 3))
    make().append("a", entries(3, 2))
    _expect(list(make().read("a")) == entries(0, 5), "what was appended is read back, in order")
    _expect(list(make().read("a", 3)) == entries(3, 2), "reading starts at any position")
    _expect(list(make().read("a", 5)) == [], "reading from the end gives nothing")
    _expect(list(make().read("b")) == [], "a run that is not there has no entries")


def one_of_two_writers_wins(make: MakeJournal) -> None:
    """An append at a position that is taken is refused, and changes nothing."""
    journal = make()
    journal.append("a", entries(0, 2))
    for position in (0, 1, 3):
        _expect(
            refuses(make(), entries(position, 1)), "an append at any place but the end is refused"
        )
    _expect(refuses(make(), entries(1, 3)), "a batch that overlaps is refused whole")
    _expect(list(journal.read("a")) == entries(0, 2), "a refused append changes nothing")


def many_writers_lose_nothing(make: MakeJournal) -> None:
    """Of several threads that append at one position exactly one wins, again and again."""
    make().append("a", entries(0, 1))
    for position in range(1, 6):
        together, wins = Barrier(4), list[bool]()

        def write(
            position: int = position, together: Barrier = together, wins: list[bool] = wins
        ) -> None:
            journal = make()
            together.wait(PATIENCE_S)
            wins.append(not refuses(journal, Lingering(entries(position, 1))))

        _expect(in_time(*[write] * 4), "writers at one position come to an end")
        _expect(wins.count(True) == 1, "of several writers at one position exactly one wins")
    _expect(list(make().read("a")) == entries(0, 6), "nothing is lost or doubled between writers")


def writers_who_race_lose_nothing(make: MakeJournal) -> None:
    """Of two threads that meet anywhere within an append exactly one wins."""
    make().append("a", entries(0, 1))
    wins = races(lambda race: not refuses(make(), entries(race + 1, 1)))
    _expect(set(wins) == {1}, "of several writers at one position exactly one wins")
    kept = list(make().read("a"))
    _expect(kept == entries(0, len(wins) + 1), "nothing is lost or doubled between writers")


def who_is_refused_goes_on_behind_the_other(make: MakeJournal) -> None:
    """Whoever is refused reads what the other has written, and writes behind it: by one handle."""
    mine, theirs = make(), make()
    mine.append("a", entries(0, 2))
    _expect(list(mine.read("a")) == entries(0, 2), "what was appended is read back, in order")
    theirs.append("a", entries(2, 1))
    lost = [Entry(2, 1.0, "Mine", "running", {}), *entries(3, 1)]
    error = refusal(mine, lost, Checkpoint(4, {}))
    _expect(error is not None, "an append at any place but the end is refused")
    _expect(
        error and (error.run_id, error.expected, error.found) == ("a", 2, 3),
        "a refusal says where the end is",
    )
    _expect(list(mine.read("a", 2)) == entries(2, 1), "who is refused reads what the other wrote")
    _expect(not list(mine.checkpoints("a")), "a refused append leaves no checkpoint")
    mine.append("a", entries(3, 1), Checkpoint(4, {"n": 4}))
    _expect(list(theirs.read("a")) == entries(0, 4), "who was refused writes behind the other")
    _expect(list(theirs.checkpoints("a")), "who was refused leaves checkpoints behind the other")
    for journal in (mine, theirs):
        _expect(refuses(journal, entries(3, 1)), "what is written is refused when it comes again")
    _expect(
        list(theirs.read("a")) == entries(0, 4), "what is written is refused when it comes again"
    )
    theirs.delete("a")
    _expect(refuses(mine, entries(4, 1)), "nothing is written behind a run that was deleted")
    _expect(not list(mine.read("a")), "nothing is written behind a run that was deleted")


def any_json_survives(make: MakeJournal) -> None:
    """Text of every kind, numbers and nesting come back as they were appended."""
    name = "odd/../id ü%2F"
    data = dict(ODD)
    make().append(name, [Entry(0, 1.5, "Kind", "running", data)])
    data["text"] = "changed"
    _expect(next(iter(make().read(name))).data == ODD, "any JSON comes back as it was appended")
    _expect([run.run_id for run in make().runs()] == [name], "any text can be the id of a run")


def any_name_is_held(make: MakeJournal) -> None:
    """The longest ids of runs and names of conversations are held, whatever their characters."""
    names = [mark * NAME_MAX for mark in (chr(0x1F512), chr(0x8BA2), "%", "a")]
    names += [names[0][1:], f"{names[0][1:]}b"]
    for name in names:
        first = Entry(0, 1.0, "Started", "running", {"of": name}, Listing("clerk", name))
        make().append(name, [first], Checkpoint(1, {"of": name}))
        make().append(name, entries(1, 1))
    law = "a run is held under each name"
    for name in names:
        found = list(make().read(name))
        _expect([entry.position for entry in found] == [0, 1], law)
        _expect(found[0].data == {"of": name}, law)
        _expect(list(make().checkpoints(name)) == [Checkpoint(1, {"of": name})], law)
        listed = list(make().runs(RunQuery(run_id=name)))
        _expect([(run.run_id, run.length) for run in listed] == [(name, 2)], law)
        _expect(refuses(make(), entries(0, 1), run_id=name), "a second writer is refused")
        if listed[0].listing != NO_LISTING:
            theirs = [run.run_id for run in make().runs(RunQuery(thread_id=name))]
            _expect(theirs == [name], "a conversation is found by each name")
    _expect({run.run_id for run in make().runs()} == {*names}, law)
    for name in names:
        make().delete(name)
        _expect(not list(make().read(name)), "nothing is left of it")
    _expect(not make().runs(), "nothing is left of it")


def checkpoints_are_kept(make: MakeJournal) -> None:
    """Checkpoints are kept with the appends that they came with, in order."""
    _expect(list(make().checkpoints("a")) == [], "without a checkpoint there is none")
    first, second = Checkpoint(2, ODD), Checkpoint(3, {"n": 3})
    make().append("a", entries(0, 2), first)
    _expect(list(make().checkpoints("a")) == [first], "a checkpoint comes back as it was")
    make().append("a", entries(2, 1), second)
    make().append("a", entries(3, 2))
    journal = make()
    _expect(list(journal.checkpoints("a")) == [first, second], "all checkpoints come in order")
    _expect(list(journal.read("a", 3)) == entries(3, 2), "reading goes on from a checkpoint")
    _expect(list(journal.read("a")) == entries(0, 5), "a checkpoint takes no entry away")
    _expect(refuses(make(), entries(3, 1), Checkpoint(4, {})), "an append in the middle is refused")
    kept = list(make().checkpoints("a"))
    _expect(kept == [first, second], "a refused append leaves no checkpoint")


def runs_are_listed(make: MakeJournal) -> None:
    """Each run is listed once, with its length, its last status and time, the newest first."""
    make().append("a", [Entry(0, 1.0, "Started", "running", {})])
    make().append("b", [Entry(0, 2.0, "Started", "running", {})])
    make().append("a", [Entry(1, 3.0, "Ended", "done", {})])
    listed: Sequence[StoredRun] = list(make().runs())
    wanted = [StoredRun("a", 2, "done", 3.0), StoredRun("b", 1, "running", 2.0)]
    _expect(listed == wanted, "runs are listed with length, status and time, the newest first")


def a_page_is_a_part_of_the_list(make: MakeJournal) -> None:
    """A page has those runs of the list that fit, in its order, wherever it begins and ends."""
    for number in range(9):
        run_status = ("waiting", "running", "done")[number % 3]
        read = ((), ("pii",), ("pii", "untrusted"), ("a pii",))[number % 4]
        names = ("", "clerk")[number % 2], ("", "alice", "bob")[number // 3]
        listing = Listing(*names, labels=read)
        at = float(number % 4)
        make().append(f"r{number}", [Entry(0, at, "Started", run_status, {}, listing)])
    make().append("r0", [Entry(1, 9.0, "HumanDecided", "running", {})])  # it moves to the front
    make().append("r1", [Entry(1, 0.5, "Ended", "done", {})])  # clocks jump
    make().delete("r2")
    whole = list(make().runs())
    _expect([*page_of(whole, ALL_RUNS)] == whole, "a list is in the order of times and ids")
    for status, agent, thread_id, before, limit in product(
        (None, "waiting", "running", "done", "failed"),
        (None, "clerk"),
        (None, "alice", "none"),
        (None, whole[2], (2.0, "r5"), (-1.0, "")),
        (None, 1, 3),
    ):
        query = RunQuery(status, agent, thread_id, before, limit)
        found = list(make().runs(query))
        _expect(found == page_of(whole, query), f"a page is a part of the list ({query})")
    for label, status, agent, thread_id, limit in product(
        ("pii", "untrusted", "ii", ""), (None, "done"), (None, "clerk"), (None, "alice"), (None, 1)
    ):
        query = RunQuery(status, agent, thread_id, (2.5, ""), limit, label=label)
        found = list(make().runs(query))
        _expect(found == page_of(whole, query), f"a page is a part of the list ({query})")
    for run_id, status, before in product(("r5", "r2"), (None, "done"), (None, (2.0, "r5"))):
        query = RunQuery(status, before=before, run_id=run_id)
        found = list(make().runs(query))
        _expect(found == page_of(whole, query), f"a run is found by its id ({query})")


def a_listing_is_kept_whole_or_not_at_all(make: MakeJournal) -> None:
    """A list says the last thing that an entry has said for it, or the store keeps no such thing.

    The agent and the thread are those that the first entry has said, the labels those of all.
    """
    first, later = Listing("clerk", "alice"), Listing("x", "y", 5.0, ("pay", "pay"))
    read = Listing(labels=("pii", "untrusted"))

    def listed(position: int, listing: Listing | None, kept: Checkpoint | None = None) -> Listing:
        make().append("a", [Entry(position, 1.0, "K", "running", {}, listing)], kept)
        return make().runs()[0].listing

    if listed(0, first) == NO_LISTING:
        return
    law = "a list says what the last entry has said that said something"
    _expect(listed(1, None) == first, law)
    _expect(listed(2, later) == Listing("clerk", "alice", 5.0, ("pay", "pay")), law)
    _expect(listed(3, None, Checkpoint(4, {})).pending == ("pay", "pay"), law)
    _expect(listed(4, Listing()) == first, law)
    stays = "nothing takes a label off"
    _expect(listed(5, Listing(labels=("pii",))).labels == ("pii",), law)
    _expect(listed(6, Listing(labels=("untrusted",))).labels == read.labels, stays)
    _expect(listed(7, Listing()).labels == listed(8, None).labels == read.labels, stays)
    found = make().runs(RunQuery(label="untrusted"))
    _expect(
        [stored_run.run_id for stored_run in found] == ["a"],
        "a run is found by a label that it got later",
    )
    make().delete("a")
    _expect(listed(0, None) == NO_LISTING, "a deleted run has left nothing for lists")
    _expect(not make().runs(RunQuery(label="pii")), "a deleted run has left nothing for lists")


def a_deleted_run_is_gone(make: MakeJournal) -> None:
    """Nothing is left of it, others stay, and its id can be used again."""
    make().append("a", entries(0, 2), Checkpoint(2, {}))
    make().append("b", entries(0, 1))
    make().delete("a")
    make().delete("never there")
    _expect(not [*make().read("a"), *make().checkpoints("a")], "nothing is left of it")
    _expect([run.run_id for run in make().runs()] == ["b"], "other runs stay")
    make().append("a", entries(0, 1))
    _expect(list(make().read("a")) == entries(0, 1), "its id can be used again")


LAWS: tuple[Callable[[MakeJournal], None], ...] = (
    what_was_appended_is_read_back,
    one_of_two_writers_wins,
    many_writers_lose_nothing,
    writers_who_race_lose_nothing,
    any_json_survives,
    checkpoints_are_kept,
    who_is_refused_goes_on_behind_the_other,
    runs_are_listed,
    a_page_is_a_part_of_the_list,
    a_listing_is_kept_whole_or_not_at_all,
    a_deleted_run_is_gone,
    any_name_is_held,
)
"""The laws of the `Journal` port, one by one."""


def entries(start: int, count: int) -> list[Entry]:
    """Entries to append, from position `start` on."""
    return [
        Entry(at, 100.0 + at, f"Kind{at}", "running", {"n": at})
        for at in range(start, start + count)
    ]


class Lingering(Sequence[Entry]):
    """Entries that let other threads go first whenever they are looked at.

    A store that looks where it stands, and then at what it is to append, would seldom be caught
    between the two otherwise.
    """

    def __init__(self, more: Sequence[Entry]) -> None:
        self._more = more

    def __len__(self) -> int:
        return len(self._more)

    @overload
    def __getitem__(self, place: int) -> Entry: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Entry]: ...
    def __getitem__(self, place: int | slice) -> Entry | Sequence[Entry]:
        time.sleep(PAUSE_S)
        return self._more[place]


def refuses(
    journal: Journal,
    more: Sequence[Entry],
    checkpoint: Checkpoint | None = None,
    run_id: str = "a",
) -> bool:
    """Whether the journal of a run refuses entries because they come from a second writer."""
    return refusal(journal, more, checkpoint, run_id) is not None


def refusal(
    journal: Journal,
    more: Sequence[Entry],
    checkpoint: Checkpoint | None = None,
    run_id: str = "a",
) -> JournalConflictError | None:
    """What the journal of a run says to entries that come from a second writer."""
    try:
        journal.append(run_id, more, checkpoint)
    except JournalConflictError as error:
        return error
    return None


def _expect(holds: object, law: str) -> None:
    expect(holds, "the store", law)
