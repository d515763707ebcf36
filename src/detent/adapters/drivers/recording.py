"""Recording: the events of a run go to a journal before they count."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf, nextafter
from threading import Event as Flag
from types import MappingProxyType
from typing import Any, TypeAlias

from attrs import evolve

from detent.adapters.drivers.company.forks import ForkedRunError
from detent.adapters.drivers.company.identity import is_kept, require_same
from detent.adapters.drivers.company.interruptions import INTERRUPTIONS, shown
from detent.adapters.drivers.company.listings import is_to_be_judged, listing_of
from detent.adapters.drivers.company.lost_outcomes import LostOutcomes
from detent.adapters.drivers.leases import Lease
from detent.adapters.drivers.loading import (
    STARTED,
    STOPPED,
    Loaded,
    heard,
)
from detent.adapters.drivers.steps import NO_STEPS, Steps, Wait, answer, at_once
from detent.adapters.system.hearing import Ear, announce, listen
from detent.core.control.holds import describe_effects, place_of
from detent.core.control.rebase import Folded
from detent.core.errors import StoredDataError
from detent.core.run.effects import Effect
from detent.core.run.events import Event, ModelReplied, ToolReturned, ToolStarted
from detent.core.run.run import Run, Thinking
from detent.core.run.sizes import LARGE_KINDS, are_long, is_large
from detent.core.run.spec import AgentSpec
from detent.core.state.state import lists_in
from detent.core.state.typevars import S
from detent.core.storage.checkpoints import Known, checkpoint_data
from detent.core.storage.journal import happened_data, start_data, status_of
from detent.core.values.frozen import EMPTY
from detent.ports.claims import Claim, claims_of
from detent.ports.clock import Clock
from detent.ports.journal import (
    Checkpoint,
    ClaimLostError,
    Entry,
    Journal,
    JournalConflictError,
    JournalError,
    JournalUnavailableError,
    outage_of,
    submit_of,
)
from detent.ports.listing import NO_LISTING, Listing

Append: TypeAlias = tuple[str, list[Entry], Checkpoint | None]
"""What a journal is given."""
Words: TypeAlias = Sequence[tuple[str, dict[str, Any]]]
"""What is kept of events: the kind of each, and its data."""
_Knowledge: TypeAlias = tuple[int, Listing | None, Known | None]
"""The length of the journal, what lists say, and the last checkpoint, if it is a new one."""

ENTRIES = 32
"""After how many entries a run gets a checkpoint, where a turn has just ended."""
CHARACTERS = 128
"""The characters that a checkpoint may say again for each entry behind the last one."""
FIRST_PAUSE_S, LAST_PAUSE_S = 0.05, 1.0
"""How long after the first try the next one is; each pause is twice as long as the one before, up
to a longest one: what a tool has brought is too dear to wait for a single late try."""
BEGIN_NO_WAIT: frozenset[type] = frozenset({ModelReplied, ToolStarted, ToolReturned})
"""Events with which no wait begins: most turns have no others."""


class RunExistsError(JournalConflictError):
    """The journal has a run of that id already. Nothing was written."""

    def __init__(self, found: JournalConflictError) -> None:
        super().__init__(found.run_id, found.expected, found.found)

    def __str__(self) -> str:
        return (
            f"the journal already has a run {self.run_id!r}, with {self.found} entries; go on with "
            f"it by agent.resume({self.run_id!r}), or give the new run another run_id"
        )


class Recorder:
    """Writes what happens to one run to a journal, from where it stands there.

    When there are `every` more entries, it adds a checkpoint; None stands for `ENTRIES`. One more
    is at the end of a run in a thread: the next run need not follow it, by rules that may differ.
    `listing` is what lists say of the run while it waits for nothing; its agent and thread count
    when the run begins, and are not asked for later.
    """

    def __init__(
        self,
        journal: Journal,
        spec: AgentSpec[Any],
        clock: Clock,
        at: Loaded[Any],
        every: int | None = None,
        *,
        listing: Listing = NO_LISTING,
        lease: Lease | None = None,
    ) -> None:
        self._journal, self._pid = journal, os.getpid()
        self._submit, self._outage_s = submit_of(journal), outage_of(journal)
        self.waits = self._submit is not None
        self._is_in_loop = True  # as far as it knows: then what is large is not read at once
        self._spec, self._clock, self._length = spec, clock, at.length
        self._known, self._fork_of = at.known, at.fork_of
        self._every = ENTRIES if every is None else every
        self.interruptions: list[BaseException] = []  # to be raised when all is heard out
        self._is_guarded = lease is None or lease.guards_appends
        self._quiet, self._lease = listing, lease  # whoever can still write has not dropped the run
        self._listed: Listing | None = None  # as far as this recorder knows
        self._ear: Ear | None = None

    @property
    def length(self) -> int:
        """How many entries the run has, as far as this recorder knows."""
        return self._length

    def listen(self, run_id: str, tell: Callable[[], object]) -> Ear:
        """Have `tell` called, in any thread, when somebody else has written to the run."""
        self._ear = listen(self._journal, run_id, tell, self)
        return self._ear

    def write_in_place(self) -> None:
        """From now on, write in the thread that records: it belongs to the run, and may wait."""
        self._submit, self._is_in_loop = None, False

    def begin(
        self, run: Run[Any], behind_s: float = -inf, origin: Mapping[str, str] = EMPTY
    ) -> Steps[None]:
        """Write down a new run, as begun later than `behind_s`; its `origin` says whose it is.

        Raises:
            RunExistsError: there is a run of that id.
        """
        try:
            names = {"name": self._quiet.agent, "thread_id": self._quiet.thread_id, **origin}
            said = {what: name for what, name in names.items() if name}
            start = {**start_data(self._spec, run, self._fork_of), **said}
            at = max(self._clock.now(), nextafter(behind_s, inf))
            yield from self.write(run, [(STARTED, start)], at=at)
        except JournalConflictError as conflict:
            raise RunExistsError(conflict) from None

    def __call__(self, happened: Sequence[tuple[Event, Run[Any]]]) -> None:
        """As `recording`, blocking."""
        at_once(self.recording(happened))

    def recording(
        self, happened: Sequence[tuple[Event, Run[Any]]], words: Words | None = None
    ) -> Steps[None]:
        """Write down events, in these `words` if any, and, now and then, the whole run after."""
        run, may_wait = happened[-1][1], False
        for each, _ in happened:
            may_wait |= type(each) not in BEGIN_NO_WAIT
            if self._is_in_loop and words is None and type(each) in LARGE_KINDS and is_large(each):
                return self._recording_apart(happened)
        words = happened_data(self._spec, happened) if words is None else words
        if not self.is_full(run, len(words)):
            return self.write(run, words, may_wait=may_wait)
        return self._recording_whole(run, words, may_wait=may_wait)

    def _recording_whole(self, run: Run[Any], words: Words, *, may_wait: bool) -> Steps[None]:
        """Write down events, and the whole run after, of which nobody knows how large it is."""
        make, is_long = partial(checkpoint_data, self._spec, run, self._known), self.waits
        data, again = yield from answer(None, make, is_long=is_long and self._is_in_loop)
        position = self._length + len(words)
        whole = Checkpoint(position, MappingProxyType(data))
        known = Known(position, lists_in(run.state), again)
        yield from self.write(run, words, whole, known, may_wait=may_wait)

    def _recording_apart(self, happened: Sequence[tuple[Event, Run[Any]]]) -> Steps[None]:
        """As `recording`; what takes long to be put into words holds no event loop."""
        words: Words = yield Wait(partial(happened_data, self._spec, happened))
        yield from self.recording(happened, words)

    def is_full(self, run: Run[Any], new: int) -> bool:
        """Whether so much stands behind the last checkpoint that one comes with `new` entries."""
        is_over = bool(self._quiet.thread_id) and run.outcome is not None
        behind = self._length + new - self._known.position
        if is_over or behind < self._every:  # nearly always, and quickly seen
            return is_over
        enough = max(self._every, self._known.again // CHARACTERS)
        return behind >= enough * (2 if run.slots else 1)  # between turns a run is small

    def missed(self, run: Run[S], held: Sequence[Event]) -> Steps[list[Folded[S]]]:
        """What was said in other processes to `run`, which is as this recorder has left it.

        Each event comes with the run before and after it, and from now on is written behind. It is
        empty where others have written anything else, or nothing: then the run is not ours any
        more, and of what is `held` here only the outcomes of calls are written behind it, as far as
        it still hears them.

        Raises:
            JournalError: the journal cannot be read.
            StoredDataError: what is stored is damaged, or this agent gives another run of it.
        """
        start = self._length
        entries = yield from answer(self._journal, lambda: list(self._journal.read(run.id, start)))
        if entries:
            yield from answer(self._journal, partial(require_same, self._journal, run))
        is_long, hear = are_long(e.body for e in entries), partial(heard, self._spec, run, entries)
        try:
            folded = yield from answer(None, partial(hear, start), is_long=is_long)
        except StoredDataError:
            yield from self._lost(held).tell_by_marks(run, self._length)
            raise
        if folded is None:
            yield from self._lost(held).tell(run, self._length)
            return []
        if not folded:  # somebody else has taken the run, and written nothing yet
            yield from self._lost(held).tell(run, self._length)
        read = partial(self._journal.checkpoints, run.id)
        chain = (yield from answer(self._journal, lambda: [*read()])) if folded else ()
        for one in chain:
            # theirs are known from now on: one of ours that builds on an older one says nothing
            if 0 < (count := one.position - start) <= len(folded):
                lists = lists_in(folded[count - 1][2].state)
                self._known = Known(one.position, lists, self._known.again)
        self._length += len(folded)
        self._listed = None  # theirs may say something else
        return folded

    def _lost(self, held: Sequence[Event]) -> LostOutcomes:
        """What this recorder knows of calls, where it has lost the run."""
        journal, spec, clock = self._journal, self._spec, self._clock
        return LostOutcomes(journal, spec, held, partial(ForeignRecorder, journal, spec, clock))

    def stop(self, run: Run[Any], held: Sequence[Effect]) -> Steps[None]:
        """Write down that a breakpoint keeps `held` from happening."""
        places = [list(place_of(effect)) for effect in held]
        data = {"held": places, "about_to": describe_effects(held)}
        return self.write(run, [(STOPPED, data)])

    def write(
        self,
        run: Run[Any],
        new: Sequence[tuple[str, Mapping[str, Any]]],
        checkpoint: Checkpoint | None = None,
        known: Known | None = None,
        *,
        may_wait: bool = False,
        at: float | None = None,
    ) -> Steps[None]:
        """Write entries; then this recorder knows that they are there, and `known` as well."""
        if self._pid != os.getpid():
            raise ForkedRunError(run.id, self._pid)
        at, status = self._clock.now() if at is None else at, status_of(run)
        listing, change = self._listed, None
        if run.labels != self._quiet.labels:  # and so what is listed is not this one any more
            self._quiet = evolve(self._quiet, labels=run.labels)
        if may_wait or listing is not self._quiet:
            is_quiet = isinstance(run.phase, Thinking)  # the model is asked, and nobody else
            listing = self._quiet if is_quiet else listing_of(self._spec, run, self._quiet)
            change = None if listing == self._listed else listing
        if status == "waiting" and is_to_be_judged(self._spec, run):
            status = "running"  # whoever finds it goes on with it
        # a new run has no claim that could be lost
        claim = self._lease.claim if self._length and self._lease is not None else None
        entries: list[Entry] = []
        length, last = self._length, self._length + len(new) - 1
        for kind, data in new:  # made whole at once: to evolve one takes four times as long
            listed, body = change if length == last else None, MappingProxyType(data)
            entries.append(Entry(length, at, kind, status, body, listed, claim))
            length, claim = length + 1, None  # the first one names it
        append: Append = (run.id, entries, checkpoint)
        after = length, listing, known
        if self._submit is None and self._is_guarded:
            try:
                self._journal.append(*append)
            except (JournalUnavailableError, ClaimLostError):  # it is tried again
                return self._write_steps(run, append, after)
            except (*INTERRUPTIONS, GeneratorExit) as error:
                return self._write_steps(run, append, after, error)
            self._take_in(run.id, after)
            return NO_STEPS
        return self._write_steps(run, append, after)

    def _write_steps(
        self,
        run: Run[Any],
        append: Append,
        after: _Knowledge,
        interruption: BaseException | None = None,
    ) -> Steps[None]:
        """As `write`; again, for a while, where the store cannot be reached, or once interrupted.

        RULE: what is written twice is written once: the second time it conflicts with itself.
        """
        clock = self._clock
        left_s = self._outage_s  # in pauses, as the run's own clock has them
        end, pause_s, is_repeated = time.monotonic() + left_s, FIRST_PAUSE_S, self._submit is None
        while True:
            try:
                yield from self._appending_anew(run, append, is_repeated=is_repeated)
                break
            except JournalUnavailableError:
                left_s = min(left_s, end - time.monotonic())
                if left_s <= 0:
                    raise
            except INTERRUPTIONS as error:
                if interruption is not None:
                    raise JournalError(f"the store was interrupted twice: {error!r}") from error
                interruption, is_repeated = error, True
                continue
            pause_s = min(pause_s, left_s)  # at the very end it is tried once more
            until, is_repeated = clock.now() + pause_s, True
            yield Wait(partial(clock.wait, until, Flag()), partial(clock.wait_async, until))
            left_s -= pause_s
            pause_s = min(pause_s * 2, LAST_PAUSE_S)
        if interruption is not None:
            self.interruptions.append(shown(interruption))
        self._take_in(append[0], after)

    def _appending_anew(self, run: Run[Any], append: Append, *, is_repeated: bool) -> Steps[None]:
        """Append once; where that `is_repeated`, it may be there already, and then it is well."""
        try:
            yield from self._appending(run, append)
        except JournalConflictError:
            kept = partial(is_kept, self._journal, *append[:2])
            if not (is_repeated and (yield from answer(self._journal, kept))):
                raise

    def _appending(self, run: Run[Any], append: Append) -> Steps[None]:
        """Append once. A claim that is gone is no harm where the run is the same, and nobody's.

        RULE: nothing is written to another run of the same id, which somebody may have begun since
        this one was deleted. A claim that stands says that nobody has; else the run is looked at.
        Nor is anything written by who drives a run that somebody else has taken: they have read
        what was there, and may just be asking the model.

        Raises:
            ClaimLostError: somebody else has the run.
        """
        _, entries, _ = append
        if not self._is_guarded and entries[0].claim is not None:
            yield from self._look(run, entries)
        try:
            yield self._wait(append)
        except ClaimLostError:
            entries[0] = evolve(entries[0], claim=(yield from self._look(run, entries)))
            yield self._wait(append)

    def _look(self, run: Run[Any], entries: Sequence[Entry]) -> Steps[Claim | None]:
        """By which claim entries are to be written: the newest of ours, or none if it is nobody's.

        Raises:
            ClaimLostError: somebody else has the run.
            JournalConflictError: it is deleted.
        """
        claims, lease, found = claims_of(self._journal), self._lease, None
        if claims is not None:
            found = yield from answer(self._journal, partial(claims.find, run.id))
        if lease is not None and found == lease.claim:  # it was taken anew meanwhile
            return found
        yield from answer(self._journal, partial(require_same, self._journal, run, entries))
        if found is not None and found.owner:
            raise ClaimLostError(run.id, entries[0].position, entries[0].position)
        return None

    def _wait(self, append: Append) -> Wait:
        submit, (_, entries, checkpoint) = self._submit, append
        if submit is not None and are_long(one.body for one in (*entries, checkpoint) if one):
            submit = None  # which makes text of it where it is called, and its checksum
        begin = None if submit is None else partial(submit, *append)
        return Wait(partial(self._journal.append, *append), begin)

    def _take_in(self, run_id: str, after: _Knowledge) -> None:
        self._length, self._listed, known = after
        if known is not None:
            self._known = known
        if self._ear is None or not self._ear.is_alone:
            announce(run_id, self)


class ForeignRecorder(Recorder):
    """Writes to a run that it does not drive. What it writes names the run by its nonce.

    RULE: the run may be deleted by then, and another one of its id begun. That one hears nothing.
    """

    def write(
        self,
        run: Run[Any],
        new: Sequence[tuple[str, Mapping[str, Any]]],
        *rest: Any,
        **options: Any,
    ) -> Steps[None]:
        """Write entries down, as `Recorder` does."""
        named = [(kind, {**data, "nonce": run.nonce}) for kind, data in new]
        return super().write(run, named, *rest, **options)
