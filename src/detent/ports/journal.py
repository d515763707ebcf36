"""The journal port: somebody who keeps, for each run, what happened to it, in order.

A journal may also say when something has been written to a run; `isinstance(journal, Notices)`
says whether it can.

`detent.ports.laws.check_journal` checks that an adapter keeps the promises made here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast, runtime_checkable

from attrs import evolve, field, frozen

from detent.core.codec.json_text import encode
from detent.core.errors import DetentError
from detent.core.values.fast_values import fast_init
from detent.ports.claims import Claim
from detent.ports.listing import ALL_RUNS, NO_LISTING, Listing, RunQuery, StoredRun

if TYPE_CHECKING:
    from concurrent.futures import Future

Body: TypeAlias = str | Mapping[str, Any]
"""What is kept: plain JSON, or its text.

A recorder hands over a ``MappingProxyType`` of what has no other text in JSON; it may hold tuples.
"""


def _texts_of(bodies: Iterable[Body]) -> list[str]:
    return [body if isinstance(body, str) else encode(dict(body)) for body in bodies]


def _data_of(body: Body) -> Mapping[str, Any]:
    if isinstance(body, Mapping) and type(body) is not MappingProxyType:
        return body
    try:
        data = json.loads(*_texts_of([body]))  # of a recorder's own data, too: it may hold tuples
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise JournalDamagedError("the journal is damaged: what it has is no JSON object")
    return data


AT_ONCE = 256
"""So many entries are read together: more are no quicker."""


class _Kept:
    """What is made with ``data``: plain JSON, or its text, which is only read when it is needed."""

    __slots__ = ()
    body: Body

    @property
    def data(self) -> Mapping[str, Any]:
        """What is kept, as plain JSON.

        Raises:
            JournalDamagedError: the text is no JSON object.
        """
        return _data_of(self.body)

    @property
    def text(self) -> str:
        """The same as JSON text, in ASCII: what a store keeps."""
        return _texts_of([self.body])[0]


@fast_init
@frozen
class Entry(_Kept):
    """One thing that happened to a run, as it is kept.

    Attributes:
        position: its place in the run's journal, from 0, without gaps.
        at: when it was written, in seconds since 1970. It orders nothing: clocks jump.
        kind: what happened, e.g. "ToolReturned".
        status: how far the run has come with it: "running", "waiting", "failed", "cancelled"
            or "done".
        body: what it was made with. Printed is its size: it may hold secrets.
        listing: what a list says of the run from here on; None is what it said before. It is for
            the list alone: a store need not give it back with the entry, nor keep it.
        claim: on the first entry of an append, the claim by which its writer drives the run. It is
            not kept. A store whose claims say `guards_appends` refuses the append without it.
    """

    position: int
    at: float
    kind: str
    status: str
    body: Body = field(alias="data", eq=_data_of, repr=lambda body: f"<size {len(body)}>")
    listing: Listing | None = field(default=None, eq=False)
    claim: Claim | None = field(default=None, eq=False)


@frozen
class Checkpoint(_Kept):
    """What a run was after the entries before `position`, so that these need not be read.

    It builds on the run's earlier checkpoints: all of them are kept. `body` is as that of an
    `Entry`.
    """

    position: int
    body: Body = field(alias="data", eq=_data_of, repr=lambda body: f"<size {len(body)}>")


class JournalError(DetentError):
    """A journal could not be read or written. What was in it before is still there."""


class RunNotFoundError(DetentError, LookupError):
    """The journal has no such run."""


class JournalConflictError(JournalError):
    """Somebody else has written to this run in the meantime. Nothing was written now."""

    def __init__(self, run_id: str, expected: int, found: int) -> None:
        why = (
            "another process works on this run; nothing of ours was written; resume it to go on "
            "from what is there"
            if found
            else "somebody has deleted this run; nothing of ours was written"
        )
        super().__init__(
            f"the journal of run {run_id!r} has {found} entries, not {expected}: {why}"
        )
        self.run_id, self.expected, self.found = run_id, expected, found


class ClaimLostError(JournalConflictError):
    """The claim named with an append is not there any more. Nothing was written.

    Somebody has taken up the run, or deleted it and begun another one of the same id.
    """

    def __str__(self) -> str:
        return (
            f"another process has taken up run {self.run_id!r}: nothing of ours was written; "
            "resume it to go on from what is there"
        )


class JournalUnavailableError(JournalError):
    """The store cannot be reached, or others hold it: a moment later it may be there again."""


class JournalDamagedError(JournalError):
    """What is stored is not what was written: somebody, or a disk, has changed it.

    Attributes:
        whole: how many entries of the run, from the first on, can still be read.
    """

    def __init__(self, message: str, run_id: str = "", whole: int = 0) -> None:
        super().__init__(message + (_WAY_OUT.format(run_id, whole) if whole else ""))
        self.whole = whole


_WAY_OUT = (
    "; Runs(…).fork({0!r}, {1}) begins a new run behind the {1} entries that can be read: what was "
    "done after them may then be done again"
)


class Journal(Protocol):
    """Keeps the entries of runs. Any thread may call it, and many processes may share a store.

    It holds each run and each conversation whose name fits `name_fault`.
    """

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """Add entries to a run's journal: all of them, or none. They are safe when this returns.

        The first one's position must be the length of the journal, and the others follow it. A
        `checkpoint` may be lost, but never be half there.

        Raises:
            JournalConflictError: the journal has another length.
            JournalError: they could not be written.
        """
        ...

    def read(self, run_id: str, start: int = 0) -> Iterable[Entry]:
        """The entries of a run from position `start` on; none when there is no such run.

        Raises:
            JournalError: they cannot be read.
            JournalDamagedError: they are not what was written.
        """
        ...

    def checkpoints(self, run_id: str) -> Iterable[Checkpoint]:
        """The run's checkpoints, in the order in which they came.

        Raises:
            JournalError: they cannot be read.
            JournalDamagedError: they are not what was written.
        """
        ...

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[StoredRun]:
        """The runs that the query asks for, the greatest `cursor` first: by time, then by id.

        A store that sees one to be damaged can say so by the status "damaged". `page_of` does what
        the query says with all runs; a store with an index need not look at them.

        Raises:
            JournalError: they cannot be read.
        """
        ...

    def delete(self, run_id: str) -> None:
        """Forget a run; nothing happens when there is no such run.

        Raises:
            JournalError: it cannot be deleted.
        """
        ...


class SubmittingJournal(Journal, Protocol):
    """A journal that can be written to without waiting, so that an event loop can do so.

    One without it is called in the event loop itself, and holds it: that suits a store in memory.
    """

    @property
    def submit(self) -> Submit | None:
        """Appends like `append`, and returns at once; None where the store it stands for cannot.

        The future is done once the entries are safe, or has what `append` raises. Then nothing more
        is written of them.
        """
        ...


class Submit(Protocol):
    """Begins an append."""

    def __call__(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None, /
    ) -> Future[None]:
        """Begin it, as `SubmittingJournal.submit` says."""
        ...


def submit_of(journal: Journal) -> Submit | None:
    """How to write to a journal without waiting; None where that cannot be done."""
    return cast("Submit | None", getattr(journal, "submit", None))


OUTAGE_S = 10.0
"""For how many seconds an append is begun again while a store cannot be reached."""


def outage_of(journal: Journal) -> float:
    """As `OUTAGE_S`: what the attribute `outage_s` of a journal says, where it has one."""
    return cast("float", getattr(journal, "outage_s", OUTAGE_S))


def as_kept(journal: Journal, entries: Sequence[Entry]) -> Sequence[Entry]:
    """Entries as they will be read back: a journal that keeps others has a method of this name."""
    change: object = getattr(journal, "as_kept", None)
    return cast("Sequence[Entry]", change(entries)) if callable(change) else entries


def is_concealing(journal: Journal) -> bool:
    """Whether a journal keeps other texts than are written to it: sealed ones, say, or redacted.

    What it conceals is to be nowhere else. Such a journal has an attribute `conceals` that is True,
    and one that stands for another one has that one's.
    """
    return bool(getattr(journal, "conceals", False))


def with_data(entries: Iterable[Entry]) -> Iterator[tuple[Entry, Mapping[str, Any]]]:
    """Each entry with its data. Many texts are read as one, which takes a third of the time.

    Raises:
        JournalDamagedError: the text of one is no JSON object.
    """
    ahead = iter(entries)
    while some := list(islice(ahead, AT_ONCE)):
        yield from zip(some, _read_at_once(some) or (entry.data for entry in some), strict=True)


def _read_at_once(entries: Sequence[Entry]) -> Sequence[Mapping[str, Any]] | None:
    """What the entries hold; None where one is no text, or they do not say as many objects."""
    texts = [entry.body for entry in entries if isinstance(entry.body, str)]
    try:
        read = json.loads(f"[{','.join(texts)}]")
    except (ValueError, RecursionError):
        return None
    is_whole = len(read) == len(entries) and {dict}.issuperset(map(type, read))
    return read if is_whole else None


def texts_of(entries: Iterable[Entry]) -> list[str]:
    """What a store keeps of each entry, as JSON text."""
    return _texts_of([entry.body for entry in entries])


def listing_after(before: Listing, entries: Sequence[Entry]) -> Listing:
    """What a list says of a run after more entries. Agent and thread are those of its first one.

    RULE: a label stays, whoever writes. One who only cancels a run need not know what it has read.
    """
    listings = [entry.listing for entry in entries if entry.listing is not None]
    first = before
    if entries[0].position == 0:
        first = entries[0].listing or NO_LISTING
    if not listings:
        return first
    labels = sorted({*first.labels}.union(*(listing.labels for listing in listings)))
    return evolve(listings[-1], agent=first.agent, thread_id=first.thread_id, labels=tuple(labels))


def require_claim(run_id: str, entries: Sequence[Entry], found: Claim | None) -> None:
    """Raise ClaimLostError if the entries name a claim, and another one was found, or none."""
    first = entries[0]
    if first.claim not in (found, None):
        raise ClaimLostError(run_id, first.position, first.position)


def require_next(run_id: str, entries: Sequence[Entry], length: int) -> None:
    """Raise unless `entries` follow a journal that has `length` entries, without a gap.

    Raises:
        JournalConflictError: the first one has another position.
        ValueError: the others do not follow it, or there is none.
    """
    if not entries:
        raise ValueError("there is nothing to append")
    first = entries[0].position
    for position, entry in enumerate(entries, first):
        if entry.position != position:
            raise ValueError(f"the entries for run {run_id!r} do not follow each other")
    if first != length:
        raise JournalConflictError(run_id, first, length)


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
