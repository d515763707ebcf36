"""Reading: what a host says of its runs, as the store has them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from heapq import merge
from itertools import chain
from typing import Any, TypeVar

from attrs import evolve, field, frozen

from detent.adapters.agent.records.proofs import proof_of
from detent.adapters.drivers.company.listings import is_to_be_judged
from detent.adapters.drivers.loading import FORGOTTEN, loaded
from detent.adapters.drivers.progress import PAUSE_MAX_S, PAUSE_S, check_position
from detent.adapters.drivers.run_handle import ended_result
from detent.adapters.hosts.channels import Channels, Reader
from detent.adapters.hosts.faults import Faults, Sweep, UnreadableRuns
from detent.adapters.hosts.finder import runs_of
from detent.adapters.hosts.legs import Legs
from detent.adapters.system.threads_and_loops import in_another_thread
from detent.core.errors import StoredDataError
from detent.core.machine.binding import OutdatedQuestion, outdated_questions
from detent.core.machine.run_secrets import secrets_of_run
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec
from detent.ports.clock import Clock
from detent.ports.hosting import HostedRun, PendingQuestion, RunProof, Watched
from detent.ports.journal import Entry, Journal, JournalDamagedError, RunNotFoundError
from detent.ports.listing import (
    ENDED,
    HostNotOpenError,
    RunQuery,
    StoredRun,
    UnknownAgentError,
    WaitingQuestions,
)
from detent.ports.names import name_fault
from detent.ports.pending import pending
from detent.ports.results import AgentResult

T = TypeVar("T")

PAGE = 100
"""How many runs each page has of those that are read one by one."""


async def asked(call: Callable[[], T]) -> T:
    """What a store says, from a thread."""
    return await asyncio.wrap_future(in_another_thread(call))


def nobody_asks(run: StoredRun, questions: Sequence[OutdatedQuestion]) -> str:
    """Whoever goes on with the run next asks anew."""
    return ""


def nothing_is_bound(run_id: str) -> bool:
    """Any release goes on with a run whose rules it has."""
    return False


def _outdated(
    listed: StoredRun, spec: AgentSpec[Any], run: Run[Any]
) -> tuple[OutdatedQuestion, ...]:
    """The questions that fit no longer: of a run that waits, or that just has them put anew."""
    is_meant = listed.status == "waiting" or is_to_be_judged(spec, run)
    return tuple(outdated_questions(spec, run)) if is_meant else ()


@frozen
class Reading:
    """Reads the runs of some agents in one journal.

    `outdated` is told, in any thread, of a run that waits with questions which fit no longer, and
    says who keeps it from being asked anew; "" is nobody. `current` is told of one that has none.
    `is_bound` says of a run, in any thread, whether only another release can go on with it.
    """

    journal: Journal
    legs: Mapping[str, Legs]
    outdated: Callable[[StoredRun, Sequence[OutdatedQuestion]], str] = nobody_asks
    current: Callable[[str], object] = str
    is_bound: Callable[[str], bool] = nothing_is_bound
    unreadable: UnreadableRuns = field(factory=UnreadableRuns)

    def sweep(self, clock: Clock, faults: Faults | None = None) -> Sweep:
        """What reads all runs of these agents that wait, once, to know which cannot be followed."""

        def listed(run_id: str) -> StoredRun | None:
            return next(iter(self.journal.runs(RunQuery(run_id=run_id))), None)

        # RULE: it has nothing asked anew. Of two releases that are up, either would.
        read = evolve(self, outdated=nobody_asks).read
        return Sweep(self.waiting, listed, read, self.unreadable, clock, faults=faults)

    def waiting(self) -> Iterator[StoredRun]:
        """All runs of these agents that wait, a page at a time; it blocks."""
        return self._listed(RunQuery(), "waiting")

    def questions(self) -> WaitingQuestions:
        """How many questions wait of these agents, by the list alone; it blocks."""
        # RULE: as for `_pending`, a run that is just being asked about goes from list to list.
        ways = (self._listed(RunQuery(), status) for status in ("running", "waiting"))
        return WaitingQuestions.of(chain.from_iterable(ways))

    async def listed(self, run_id: str) -> StoredRun | None:
        """What the index says of a run."""
        if name_fault("run_id", run_id):  # no store need be able to look for it
            return None
        return next(iter(await self.runs(RunQuery(run_id=run_id))), None)

    async def required(self, run_id: str) -> StoredRun:
        """The same. Raises RunNotFoundError."""
        found = await self.listed(run_id)
        if found is None:
            raise RunNotFoundError(
                f"this host has no run {run_id!r}; runs() lists those that it has"
            )
        return found

    async def runs(self, query: RunQuery) -> Sequence[StoredRun]:
        """A page of the list."""
        return await asked(partial(self.journal.runs, query)) if query.is_possible else ()

    async def run(self, run_id: str, length: int | None = None) -> HostedRun:
        """As `Host.run` says."""
        listed = await self.required(run_id)
        if length is not None and not 1 <= length <= listed.length:
            has = f"run {run_id!r} has {listed.length} entries"
            raise ValueError(f"{has}: there is nothing to see after {length} of them")
        return await asked(partial(self.read, listed, length))

    def read(self, listed: StoredRun, length: int | None = None) -> HostedRun:
        """The same; it blocks."""
        run: Run[Any]
        try:
            spec = self.spec_of(listed)
            run = loaded(self.journal, spec, listed.run_id, length).run
        except (StoredDataError, JournalDamagedError) as error:
            if listed.status == "waiting":  # of all others, whoever drives them says so
                self.unreadable.note(listed, error)
            raise
        if length is None:
            self.unreadable.drop(listed.run_id)
        outdated = _outdated(listed, spec, run) if length is None else ()
        is_bound = length is None and self.is_bound(listed.run_id)
        is_free = listed.status == "waiting" and not is_bound  # else somebody goes on with it
        is_left = bool(outdated) and is_free
        held_by = self.outdated(listed, outdated) if is_left else ""
        if length is None and not outdated:
            self.current(listed.run_id)
        calls, secrets = pending(spec, run), secrets_of_run(spec, run)
        return HostedRun(listed, run, calls, outdated, secrets, held_by, is_bound)

    def read_again(self, run_id: str) -> None:
        """Read a run if it waits still, for what is told of it then; it blocks.

        Raises:
            JournalError: the store cannot be asked.
        """
        for listed in self.journal.runs(RunQuery("waiting", run_id=run_id)):
            with suppress(RunNotFoundError, StoredDataError, JournalDamagedError):
                self.read(listed)

    async def is_outdated(self, listed: StoredRun) -> bool:
        """Whether a run waits with a question that is about another version of a tool."""
        return await asked(partial(self._is_outdated, listed))

    def _is_outdated(self, listed: StoredRun) -> bool:
        spec = self.spec_of(listed)
        return bool(_outdated(listed, spec, loaded(self.journal, spec, listed.run_id).run))

    async def verify(self, run_id: str) -> RunProof:
        """As `Host.verify` says."""
        listed = await self.required(run_id)
        return await asked(partial(self._verified, listed))

    def _verified(self, listed: StoredRun) -> RunProof:
        return proof_of(self.journal, self.spec_of(listed), listed.run_id)

    def spec_of(self, listed: StoredRun) -> AgentSpec[Any]:
        """The rules of the agent whose run it is; it blocks.

        Raises:
            UnknownAgentError: that agent is not here.
            AgentChangedError: its only agent without a name has not begun it.
            JournalError: it cannot be read.
        """
        legs = self._legs_of(listed)
        legs.require_own(listed.run_id)
        return legs.assembly.current_spec

    def _legs_of(self, listed: StoredRun) -> Legs:
        if listed.agent not in self.legs:
            raise UnknownAgentError(listed.agent, sorted(self.legs), listed.run_id)
        return self.legs[listed.agent]

    async def pending(self, query: RunQuery) -> Sequence[PendingQuestion]:
        """As `Host.pending` says."""
        return await asked(partial(self._pending, query)) if query.is_possible else ()

    def _pending(self, query: RunQuery) -> list[PendingQuestion]:
        found: list[PendingQuestion] = []
        left = query.limit or PAGE
        # RULE: a run that is just being asked about or decided goes from one list to the other, and
        # whoever looks at the first one again behind the second one finds it, unless it comes back.
        ways = [self._listed(query, status) for status in ("running", "waiting", "running")]
        known = set[str]()
        for run in merge(*ways, key=lambda run: run.cursor, reverse=True):
            if run.pending and run.run_id not in known:
                known.add(run.run_id)
                questions = self._questions(run)
                left -= bool(questions)
                found += questions
            if not left:
                break
        return found

    def _listed(self, query: RunQuery, status: str) -> Iterator[StoredRun]:
        agents = self.legs if query.agent is None else self.legs.keys() & {query.agent}
        wanted = RunQuery(status, query.agent, query.thread_id, query.before)
        return runs_of(self.journal, agents, wanted, (PAGE, PAGE)) if agents else iter(())

    def _questions(self, run: StoredRun) -> list[PendingQuestion]:
        if self.unreadable.has(run):  # behind a release that changes an agent, that may be most
            return []
        try:
            calls = self.read(run).pending
        except (RunNotFoundError, StoredDataError, JournalDamagedError):
            return []
        return [PendingQuestion(run.agent, run.thread_id, run.cursor, call) for call in calls]

    async def result(self, run_id: str, channels: Channels) -> AgentResult[Any, Any]:
        """As `Host.result` says, however long it takes."""
        with channels.reader(run_id) as reader:
            looks = Looks(reader)
            while True:
                listed = await self.required(run_id)
                if listed.status in ENDED:
                    return await asked(partial(self._result, listed))
                self._legs_of(listed)
                await looks.next()

    def _result(self, listed: StoredRun) -> AgentResult[Any, Any]:
        spec = self.spec_of(listed)
        return ended_result(spec, loaded(self.journal, spec, listed.run_id).run, {})

    async def watch(
        self, run_id: str, after: int | None, channels: Channels
    ) -> AsyncGenerator[Watched]:
        """As `Host.watch` says."""
        check_position(after)
        with channels.reader(run_id) as reader:
            position, last = -1 if after is None else after, None
            listed = await self.required(run_id)
            if listed.length <= position:
                raise ValueError(
                    f"run {run_id!r} has {listed.length} entries: nothing is at position {after}"
                )
            looks, entries = Looks(reader), list[Entry]()
            while True:
                if looks.is_time or reader.length > position + 1:
                    entries = await asked(partial(self._entries, run_id, position, last))
                for entry in entries:
                    for piece in reader.pieces(entry.position):
                        yield piece
                    yield entry
                if entries:
                    last, entries = entries[-1], []
                    position = last.position
                    looks.renew()
                for piece in reader.pieces(position + 1):
                    yield piece
                if (last.status if last is not None else listed.status) in ENDED:
                    return
                await looks.next()

    def _entries(self, run_id: str, position: int, last: Entry | None) -> list[Entry]:
        """What is behind a position. By the entry there it is known that it is the same run."""
        found = list(self.journal.read(run_id, max(0, position)))
        is_gone = not found or (last is not None and found[0] != last)
        if is_gone or found[-1].kind == FORGOTTEN:
            raise RunNotFoundError(f"run {run_id!r} has been deleted while it was watched")
        return found if position < 0 else found[1:]


class Looks:
    """When to look into the store: at news from here, and ever more rarely for what others do."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.is_time = True
        self.renew()

    def renew(self) -> None:
        """Something has come."""
        self._pause_s = PAUSE_S

    async def next(self) -> None:
        """Wait for news, or until it is time.

        Raises:
            HostNotOpenError: the host was closed, and there was a look since.
        """
        if self._reader.is_ended:
            raise HostNotOpenError(
                "the host was closed, and the run has not ended; it goes on where a host of its "
                "agent is open: wait there"
            )
        try:
            async with asyncio.timeout(self._pause_s):
                await self._reader.news.wait()
        except TimeoutError:
            self.is_time = True
            self._pause_s = min(2 * self._pause_s, PAUSE_MAX_S)
        else:
            self.is_time = self._reader.is_ended
            self._reader.news.clear()
