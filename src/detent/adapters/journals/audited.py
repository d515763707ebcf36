"""A journal whose entries hang together: none can be changed, removed or moved unseen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

from attrs import Factory, define, evolve, field, frozen

from detent.core.tools.version import hash_of
from detent.ports.claims import Claims, claims_of
from detent.ports.journal import (
    Checkpoint,
    Entry,
    Journal,
    JournalDamagedError,
    JournalError,
    Submit,
    as_kept,
    foreign_notices_of,
    is_concealing,
    outage_of,
    submit_of,
)
from detent.ports.listing import ALL_RUNS, RunQuery, StoredRun

CHAIN, SIGNATURE = "chain", "signature"
"""What is kept with the data of an entry."""
KNOWN = 1000
"""Of so many runs that are written to the last link is remembered."""
LISTED = 10_000
"""Of so many runs the names in their first entries are."""
Link: TypeAlias = tuple[int, str]
"""How many entries a run has, and the digest of the last one."""


def link_of(before: str, run_id: str, entry: Entry, data: Mapping[str, Any]) -> str:
    """The digest of an entry with this data, and of all those before it."""
    place = (run_id, entry.position, entry.at, entry.kind, entry.status)
    return hash_of("detent audit 1", before, *place, dict(data))


def head_of(length: int, link: str) -> str:
    """What people are told of the link of the last of so many entries.

    RULE: nobody who may not read the store knows a link. The next one is made of it and of an entry
    whose secrets they are not shown: with both, a short secret could be tried out. Nor can they
    make one: the first entry has a number in it that is random, and is not shown either.
    """
    return f"{length}:{hash_of('detent audit head 1', link)}"


@define
class FirstEntries:
    """Holds what a list says of runs against their first entries, of each run once.

    RULE: a list is neither sealed nor chained. A run that it gave another agent would go on by the
    rules of that one, and one that it gave another thread would be told there.
    """

    _journal: Journal
    _names: dict[str, tuple[str, str]] = field(factory=dict, init=False, repr=False)

    def runs(self, store: Journal, query: RunQuery) -> list[StoredRun]:
        """Those that a store has for a query, and of which their first entry says the same names.

        RULE: a page is filled from the next ones. Whoever reads a list takes a short page for its
        end, so that one run with false names would hide all that are behind it.
        """
        found, before = list[StoredRun](), query.before
        while True:
            page = store.runs(evolve(query, before=before))
            found += filter(self._is_true, page)
            if query.limit is None or len(page) < query.limit or len(found) >= query.limit:
                return found[: query.limit]
            if before is not None and page[-1].cursor >= before:
                raise JournalDamagedError(
                    f"the list of runs goes in a circle: behind {before} it has "
                    f"{page[-1].cursor} again; somebody has changed it",
                    page[-1].run_id,
                    0,
                )
            before = page[-1].cursor

    def require(self, run_id: str) -> None:
        """Raise JournalDamagedError where no list has a run by the names that it says itself."""
        if not self.runs(self._journal, RunQuery(run_id=run_id)):
            raise JournalDamagedError(
                f"no list has run {run_id!r} by the agent and the thread that its first entry "
                "names: somebody has changed the list",
                run_id,
                0,
            )

    def _is_true(self, run: StoredRun) -> bool:
        names = run.agent, run.thread_id
        if self._names.get(run.run_id) == names:
            return True
        with suppress(JournalError):  # whoever reads the run hears of that
            for first in islice(self._journal.read(run.run_id), 1):
                if "run" not in first.data:  # no agent has begun it
                    break
                said = str(first.data.get("name", "")), str(first.data.get("thread_id", ""))
                self._names[run.run_id] = said
                while len(self._names) > LISTED:  # other threads forget as well
                    self._names.pop(next(iter(self._names.copy()), ""), None)
                return said == names
        return True


def _has_no_chain(instance: object, attribute: object, journal: Journal) -> None:
    if chained(journal) is not None:
        raise ValueError("there is an AuditedJournal in it already: one chain is enough")


@frozen
class AuditedJournal:
    """Keeps runs in `journal`, each entry with a digest of it and of all before it: a chain.

    `verify_audit` holds the chain against the entries. Whoever can write to the store can make a
    new chain, too, unless `sign` signs each link: ``AuditedJournal(store, signer.sign_text)``. That
    the last entries were taken away only shows against a head that was kept elsewhere.

    The chain is about what is written to it: put an `EncryptedJournal` into it, and a
    `RedactedJournal` around it. A run that was begun without it has no chain; go on with it there.

    Raises:
        ValueError: there is one in it already: its links would be taken for entries.
    """

    journal: Journal = field(validator=_has_no_chain)
    sign: Callable[[str], str] | None = field(default=None, repr=False)
    _links: dict[str, Link] = field(factory=dict, init=False, eq=False, repr=False)
    _first: FirstEntries = field(
        init=False,
        eq=False,
        repr=False,
        default=Factory(lambda own: FirstEntries(own.journal), takes_self=True),
    )

    @property
    def claims(self) -> Claims | None:
        """Those of the other store."""
        return claims_of(self.journal)

    @property
    def conceals(self) -> bool:
        """Whether the other store does."""
        return is_concealing(self.journal)

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As `Journal.append` says."""
        linked, link = self._linked(run_id, entries)
        self.journal.append(run_id, linked, checkpoint)
        self._keep(run_id, link)

    def as_kept(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """As the other store keeps them."""
        return as_kept(self.journal, entries)

    @property
    def outage_s(self) -> float:
        """For how long an append to the other store is begun again."""
        return outage_of(self.journal)

    @property
    def notices(self) -> object:
        """Who tells what others write to the other store."""
        return foreign_notices_of(self.journal)

    @property
    def submit(self) -> Submit | None:
        """As `SubmittingJournal.submit` says, where the other store can."""
        submit = submit_of(self.journal)
        return submit and partial(self._submitted, submit)

    def _submitted(
        self,
        submit: Submit,
        run_id: str,
        entries: Sequence[Entry],
        checkpoint: Checkpoint | None = None,
        /,
    ) -> Future[None]:
        linked, link = self._linked(run_id, entries)
        future = submit(run_id, linked, checkpoint)

        def done(written: Future[None]) -> None:
            if not written.cancelled() and written.exception() is None:
                self._keep(run_id, link)

        future.add_done_callback(done)
        return future

    def read(self, run_id: str, start: int = 0) -> Iterator[Entry]:
        """As `Journal.read` says.

        RULE: whoever reads a run may find another one there, begun since this one was deleted. So
        what is written next hangs on what the store has then, and on no link that is remembered.
        """
        self._links.pop(run_id, None)
        return (bare_of(entry)[0] for entry in self.journal.read(run_id, start))

    def checkpoints(self, run_id: str) -> Iterable[Checkpoint]:
        """As `Journal.checkpoints` says."""
        return self.journal.checkpoints(run_id)

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[StoredRun]:
        """As `Journal.runs` says, but for runs of which the list says another agent or thread."""
        return self._first.runs(self.journal, query)

    def delete(self, run_id: str) -> None:
        """As `Journal.delete` says."""
        self._links.pop(run_id, None)
        self.journal.delete(run_id)

    def _linked(self, run_id: str, entries: Sequence[Entry]) -> tuple[list[Entry], Link]:
        """The entries with their links, and the last of these."""
        length = entries[0].position if entries else 0
        digest, linked = self._before(run_id, length), list[Entry]()
        for entry in entries:
            digest = link_of(digest, run_id, entry, entry.data)
            data = {**entry.data, CHAIN: digest}
            if self.sign is not None:
                data[SIGNATURE] = self.sign(digest)
            linked.append(evolve(entry, data=data))
        return linked, (length + len(linked), digest)

    def _before(self, run_id: str, length: int) -> str:
        """The link that an entry at this position hangs on."""
        if length == 0:
            return ""
        known = self._links.get(run_id)
        if known is not None and known[0] == length:
            return known[1]
        # where others were faster there is another one: the store says so when it is written
        last = list(islice(self.journal.read(run_id, length - 1), 1))
        return bare_of(last[0])[1] if last else ""

    def _keep(self, run_id: str, link: Link) -> None:
        self._links[run_id] = link
        while len(self._links) > KNOWN:
            self._links.pop(next(iter(self._links), ""), None)


def bare_of(entry: Entry) -> tuple[Entry, str, str]:
    """An entry as it was handed over, its link and its signature; "" for what it has not got."""
    data = dict(entry.data)
    link, signature = data.pop(CHAIN, ""), data.pop(SIGNATURE, "")
    return evolve(entry, data=data), str(link), str(signature)


@frozen
class Audit:
    """A run whose journal hangs together: how many entries it has, and the head of its chain.

    Keep the head elsewhere, and give it to `verify_audit` the next time: it is a line of text.
    """

    run_id: str
    length: int
    head: str


def verify_audit(
    journal: Journal,
    run_id: str,
    *,
    expect_head: str | None = None,
    is_signed: Callable[[str, str], bool] | None = None,
) -> Audit:
    """Hold a run's entries against their chain: none was changed, removed or moved.

    Args:
        journal: an `AuditedJournal`, or one around it. Of others the head is made anew, so that
            they are only held against `expect_head`.
        run_id: the run.
        expect_head: the `Audit.head` of an earlier time, or printed: what was there then must still
            be there. Without it nobody can tell that the last entries are missing, nor that all is
            another run, with a chain of its own.
        is_signed: whether a link has this signature; every link must have one:
            ``lambda link, signature: keys.has_signed("server", link, signature)``.

    Raises:
        JournalDamagedError: it does not hang together; the message says from which entry on. Or
            lists say that it is of another agent or thread than it says itself.
    """
    audited, length, digest, heads = chained(journal), 0, "", set[str]()
    raw: Journal = journal if audited is None else audited.journal
    for stored in raw.read(run_id):
        entry, link, signature = bare_of(stored) if audited is not None else (stored, "", "")
        if entry.position != length:
            raise _broken(run_id, length, "is not there")
        digest = link_of(digest, run_id, entry, entry.data)
        if audited is not None and link != digest:
            raise _broken(run_id, length, "is not the one that was written after those before it")
        if is_signed is not None and not is_signed(digest, signature):
            raise _broken(run_id, length, "is not signed by whom it should be")
        length += 1
        heads.add(head_of(length, digest))
    if length == 0 or (expect_head is not None and expect_head not in heads):
        was = "any entry" if expect_head is None else f"what was at the head {expect_head!r:.90}"
        raise JournalDamagedError(
            f"the journal of run {run_id!r}, which has {length} entries, has not got {was}: "
            "somebody has put back an earlier state, changed what was there, or deleted the run"
        )
    FirstEntries(raw).require(run_id)
    return Audit(run_id, length, head_of(length, digest))


def chained(journal: Journal) -> AuditedJournal | None:
    """The journal with the chain: it, or one inside it; None where there is none."""
    inner: object = journal
    while inner is not None and not isinstance(inner, AuditedJournal):
        inner = getattr(inner, "journal", None)
    return inner


def _broken(run_id: str, position: int, what: str) -> JournalDamagedError:
    return JournalDamagedError(
        f"the journal of run {run_id!r} does not hang together: entry {position} {what}",
        run_id,
        position,
    )
