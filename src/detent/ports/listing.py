"""Lists of runs: what one says of a run, and which runs are on a page of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from math import isnan
from typing import TypeAlias

from attrs import field, frozen

from detent.core.errors import DetentError
from detent.core.values.checks import meant
from detent.ports.names import is_storable

Cursor: TypeAlias = tuple[float, str]
"""Where a run stands in a list: its time and its id. A list gives the greatest first."""


@frozen
class Listing:
    """What a list says of a run beside its status and time.

    Attributes:
        agent: the name of the agent whose run it is; "" when it has none.
        thread_id: the conversation that the run belongs to; "" when to none.
        wake_at: when a wait of the run is over, in seconds since 1970; None when it waits for no
            time.
        pending: the tools whose calls wait for a human, one for each call, in the model's order.
        labels: of what the run has read, see `Tool.labels`, in their order. Nothing takes one off.
    """

    agent: str = ""
    thread_id: str = ""
    wake_at: float | None = None
    pending: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


NO_LISTING = Listing()


@frozen
class StoredRun:
    """A run in a list: how many entries it has, the last one's status and time, and its `Listing`.

    A store that keeps no listings says nothing in these fields. `began` is the time of the first
    entry; None where the store does not say it in lists.
    """

    run_id: str
    length: int
    status: str
    at: float
    agent: str = ""
    thread_id: str = ""
    wake_at: float | None = None
    pending: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    began: float | None = field(default=None, eq=False)

    @property
    def cursor(self) -> Cursor:
        """Its place in the list: what the next page is asked for with, also as JSON."""
        return self.at, self.run_id

    @property
    def listing(self) -> Listing:
        """What the list says of it."""
        return Listing(self.agent, self.thread_id, self.wake_at, self.pending, self.labels)

    @classmethod
    def listed(
        cls, run_id: str, length: int, status: str, at: float, listing: Listing
    ) -> StoredRun:
        """A run with what a list says of it."""
        says = (listing.agent, listing.thread_id, listing.wake_at, listing.pending)
        return cls(run_id, length, status, at, *says, listing.labels)


@frozen
class WaitingQuestions:
    """The questions that wait for somebody, of the agents of a host, whoever drives their runs.

    Attributes:
        count: how many calls wait for a decision.
        oldest_at: when the run was last written to that has waited longest, in seconds since 1970:
            the `asked_at` of its questions. None where nothing waits.
        at: when the store was asked, in seconds since 1970; None where nobody has noted it.
    """

    count: int = 0
    oldest_at: float | None = None
    at: float | None = field(default=None, eq=False)

    def waited_s(self, now: float) -> float:
        """For how many seconds the oldest has waited; 0 where nothing waits."""
        return 0.0 if self.oldest_at is None else max(0.0, now - self.oldest_at)

    @classmethod
    def of(cls, runs: Iterable[StoredRun]) -> WaitingQuestions:
        """Those of some runs, by what a list says of each: none is read."""
        asking = {run.run_id: run for run in runs if run.pending}.values()
        oldest = min((run.at for run in asking), default=None)
        return cls(sum(len(run.pending) for run in asking), oldest)


def _cursor(before: StoredRun | Iterable[object] | None) -> Cursor | None:
    if before is None or isinstance(before, StoredRun):
        return None if before is None else before.cursor
    match tuple(before):
        case (int() | float() as at, str(run_id)) if is_storable(run_id) and _is_time(at):
            return float(at), run_id
        case other:
            raise ValueError(f"before is a run of a list or its cursor, got {other!r:.80}")


def _is_time(at: float) -> bool:
    with suppress(OverflowError):
        return not isnan(at)
    return False


LIMIT_MAX = 2**63 - 1
"""What every store can count to."""
ENDED = frozenset({"done", "failed", "cancelled"})
"""A run that has failed is over for its watchers, too: that it is ever resumed is not sure."""
STATUSES = ("running", "waiting", "failed", "cancelled", "done", "damaged")
"""How far a run in a list may have come; what is damaged, its store says."""


def _is_status(query: RunQuery, at: object, status: str | None) -> None:
    # An unknown one fits no run: a list that is empty looks as if nobody waited.
    if status is not None and status not in STATUSES:
        hint = meant(status, STATUSES)
        raise ValueError(f"status must be one of {', '.join(STATUSES)}, got {status!r:.80}{hint}")


def _is_limit(query: RunQuery, at: object, limit: int | None) -> None:
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, got {limit}")
    if limit is not None and limit > LIMIT_MAX:
        raise ValueError(f"limit must be at most {LIMIT_MAX}, got {limit:.3g}")


@frozen
class RunQuery:
    """Which runs a list has. None is any.

    Pages go by places, not by numbers: a run that is written to between two pages moves to the
    front of the list, and nothing else is given twice or left out. A page that has fewer than its
    `limit` is the last one: a store that leaves some out fills it from behind.

    Attributes:
        status: how far they have come, one of `STATUSES`.
        agent: the name of their agent.
        thread_id: the conversation that they belong to.
        before: the last run of the page before, or its `cursor`.
        limit: how many at most.
        run_id: the one run of this id.
        label: one of the labels of what they have read.

    Raises:
        ValueError: `status` is none of `STATUSES`, `limit` is below 1 or above 2**63 - 1, or
            `before` is no place in a list.
    """

    status: str | None = field(default=None, validator=_is_status)
    agent: str | None = None
    thread_id: str | None = None
    before: Cursor | None = field(default=None, converter=_cursor)
    limit: int | None = field(default=None, validator=_is_limit)
    run_id: str | None = None
    label: str | None = None

    @property
    def is_possible(self) -> bool:
        """Whether there can be such runs: a text that no store can keep is in none of them."""
        texts = (self.agent, self.thread_id, self.run_id, self.label)
        return all(text is None or is_storable(text) for text in texts)

    def fits(self, run: StoredRun) -> bool:
        """Whether the run is one of these, on whatever page."""
        return (
            self.run_id in {None, run.run_id}
            and self.status in {None, run.status}
            and self.agent in {None, run.agent}
            and self.thread_id in {None, run.thread_id}
            and (self.label is None or self.label in run.labels)
        )


ALL_RUNS = RunQuery()


def page_of(runs: Iterable[StoredRun], query: RunQuery) -> list[StoredRun]:
    """Those of all runs that a query asks for, in order: for a store that looks at every one."""
    before = query.before
    found = [run for run in runs if query.fits(run) and (before is None or run.cursor < before)]
    found.sort(key=lambda run: run.cursor, reverse=True)
    return found[: query.limit]


class HostNotOpenError(DetentError, RuntimeError):
    """A host is asked or waited for, and is not open: nobody has opened it, or it was closed."""


class HostOpenError(DetentError, RuntimeError):
    """A host is opened that is open: its end would close it for those who use it."""


class UnknownAgentError(DetentError, LookupError):
    """The host has no agent of this name; a run in its store may be of one that it has not got."""

    def __init__(self, name: str, known: Sequence[str], run_id: str = "") -> None:
        whose = f"run {run_id!r} is of agent {name!r}" if run_id else f"there is no agent {name!r}"
        has = ", ".join(repr(one) for one in known if one) or "none"
        hint = f"; to go on with it here, host its agent as {name!r}" if run_id else ""
        super().__init__(f"{whose}; this host has {has}{hint}")
        self.name = name
