"""Recording: the events of a run go to a journal before they count, and come back as the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, Generic

from attrs import evolve, frozen

from detent.adapters.drivers.listing import BEGIN_NO_WAIT, listing_of
from detent.core.codec.own_values import data_of
from detent.core.control.breakpoints import describe_effects, key_from_json, place_of
from detent.core.control.rebase import Folded, is_from_people
from detent.core.errors import DetentError, StoredDataError
from detent.core.machine.step import step
from detent.core.run.effects import Effect, EffectKey
from detent.core.run.events import Event, ModelReplied, ToolStarted
from detent.core.run.run import Run, is_settled
from detent.core.run.spec import AgentSpec
from detent.core.state.state import lists_in
from detent.core.state.typevars import S
from detent.core.storage.checkpoints import (
    NO_CHECKPOINT,
    Known,
    checkpoint_data,
    joined,
)
from detent.core.storage.journal import (
    KINDS,
    event_of_kind,
    progress_mark,
    start_data,
    status_of,
)
from detent.core.storage.snapshot import (
    SnapshotMismatchError,
    passing_snapshot,
    run_of,
)
from detent.ports.journal import (
    Checkpoint,
    Entry,
    Journal,
    JournalConflictError,
    JournalDamagedError,
    with_data,
)
from detent.ports.listing import NO_LISTING, Listing

STARTED = "Started"
STOPPED = "Stopped"
FORGOTTEN = "Forgotten"
"""The last entry of a run that is just being deleted."""
ENTRIES = 32
"""After how many entries a run gets a checkpoint, where a turn has just ended."""
CHARACTERS = 128
"""The characters that a checkpoint may say again for each entry behind the last one."""

Now = Callable[[], float]


class RunNotFoundError(DetentError, LookupError):
    """The journal has no such run."""


class RunExistsError(JournalConflictError):
    """The journal has a run of that id already. Nothing was written."""

    def __init__(self, found: JournalConflictError) -> None:
        super().__init__(found.run_id, found.expected, found.found)

    def __str__(self) -> str:
        return (
            f"the journal already has a run {self.run_id!r}, with {self.found} entries; go on with "
            f"it by agent.resume({self.run_id!r}), or give the new run another run_id"
        )


@frozen
class Loaded(Generic[S]):
    """A run from a journal, how many entries it has, and the places where it had stopped.

    `known` is its last checkpoint.
    """

    run: Run[S]
    length: int
    passed: tuple[EffectKey, ...] = ()
    known: Known = NO_CHECKPOINT


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
        now: Now,
        at: Loaded[Any],
        every: int | None = None,
        *,
        listing: Listing = NO_LISTING,
        holds: object = None,
    ) -> None:
        self._journal = journal
        self._spec = spec
        self._now = now
        self._length = at.length
        self._known = at.known
        self._enough = self._every = ENTRIES if every is None else every
        self._holds = holds  # the lease: whoever can still write has not dropped the run
        self._quiet = listing
        self._listed: Listing | None = None  # as far as this recorder knows

    def begin(self, run: Run[Any]) -> None:
        """Write down a run to which nothing has happened yet.

        Raises:
            RunExistsError: there is a run of that id.
        """
        try:
            quiet = self._quiet
            names = {"name": quiet.agent, "thread_id": quiet.thread_id}
            said = {what: name for what, name in names.items() if name}
            self._append(run, [(STARTED, {**start_data(self._spec, run), **said})])
        except JournalConflictError as conflict:
            raise RunExistsError(conflict) from None

    def __call__(self, happened: Sequence[tuple[Event, Run[Any]]]) -> None:
        """Write down events, and, now and then, the whole run after them."""
        run = happened[-1][1]
        new: list[tuple[str, dict[str, Any]]] = []
        marked: tuple[dict[str, Any], Run[Any]] | None = None
        may_wait = False
        for event, after in happened:
            kind = type(event)
            data = data_of(event, kind, self._spec)
            new.append((kind.__name__, data))
            if kind is not ToolStarted:  # of a start, only one thing can come
                marked = data, after
            if kind not in BEGIN_NO_WAIT:
                may_wait = True
        if marked is not None:
            marked[0]["mark"] = progress_mark(marked[1])
        position = self._length + len(new)
        count = position - self._known.position
        is_early = count < self._enough or (run.slots and count < 2 * self._enough)
        if is_early and not (self._quiet.thread_id and run.outcome is not None):
            # between turns a run is small: that is waited for
            self._append(run, new, may_wait=may_wait)
            return
        data, rest = checkpoint_data(self._spec, run, self._known)
        whole = Checkpoint(position, MappingProxyType(data))
        self._append(run, new, whole, may_wait=may_wait)
        self._known = Known(position, lists_in(run.state))
        self._enough = max(self._every, rest // CHARACTERS)

    def missed(self, run: Run[S]) -> list[Folded[S]]:
        """What people have said in other processes to `run`, which is as this recorder has left it.

        Each event comes with the run before and after it, and from now on is written behind. It is
        empty where others have written anything else, or nothing: then the run is not ours any
        more, and nothing may be written behind it.

        Raises:
            JournalError: the journal cannot be read.
            StoredDataError: what is stored is damaged, or this agent gives another run of it.
        """
        start, folded = self._length, list[Folded[S]]()
        for entry, data in with_data(self._journal.read(run.id, start)):
            require_position(run, entry, start + len(folded))
            if entry.kind not in KINDS:
                return []
            event, after = event_and_run(self._spec, run, entry, data)
            if not is_from_people(event):
                return []
            folded.append((run, event, after))
            run = after
        for one in self._journal.checkpoints(run.id) if folded else ():
            # theirs are known from now on: one of ours that builds on an older one says nothing
            if 0 < (count := one.position - start) <= len(folded):
                self._known = Known(one.position, lists_in(folded[count - 1][2].state))
        self._length += len(folded)
        self._listed = None  # theirs may say something else
        return folded

    def stop(self, run: Run[Any], held: Sequence[Effect]) -> None:
        """Write down that a breakpoint keeps `held` from happening."""
        places = [list(place_of(effect)) for effect in held]
        data = {"held": places, "about_to": describe_effects(held)}
        self._append(run, [(STOPPED, data)])

    def _append(
        self,
        run: Run[Any],
        new: Sequence[tuple[str, Mapping[str, Any]]],
        checkpoint: Checkpoint | None = None,
        *,
        may_wait: bool = False,
    ) -> None:
        status, at, length = status_of(run), self._now(), self._length
        entries: list[Entry] = []
        for kind, data in new:
            entries.append(Entry(length, at, kind, status, MappingProxyType(data)))
            length += 1
        listing = self._listed
        if may_wait or listing is not self._quiet:
            listing = listing_of(self._spec, run, self._quiet)
            if listing != self._listed:
                entries[-1] = evolve(entries[-1], listing=listing)
        self._journal.append(run.id, entries, checkpoint)
        self._length, self._listed = length, listing


def loaded(
    journal: Journal,
    spec: AgentSpec[S],
    run_id: str,
    until: int | None = None,
    *,
    from_start: bool = False,
) -> Loaded[S]:
    """The run of this id as it was after its first `until` entries; None is all.

    A checkpoint saves reading all of them, unless it is to be made `from_start`.

    Raises:
        RunNotFoundError: there is no such run.
        StoredDataError: what is stored is damaged, or this agent gives another run of it.
        SnapshotMismatchError: a call that is still open needs a tool that this agent has not got.
        JournalError: it cannot be read.
    """
    found = None if from_start else _last_checkpoint(journal, run_id, until)
    entries = iter(journal.read(run_id, 0 if found is None else found[0]))
    now = _opened(spec, *(_opening(entries, run_id) if found is None else found))
    if found is not None:
        now = evolve(now, known=Known(now.length, lists_in(now.run.state)))
    more = islice(entries, None if until is None else max(0, until - now.length))
    now = _followed(spec, now, more)
    open_calls = (slot.call.tool_name for slot in now.run.slots if not is_settled(slot))
    if missing := sorted(set(open_calls) - spec.tools.keys()):
        raise SnapshotMismatchError(f"it needs the tool {name!r}" for name in missing)
    return now


def _last_checkpoint(
    journal: Journal, run_id: str, until: int | None
) -> tuple[int, Mapping[str, Any]] | None:
    chain = journal.checkpoints(run_id)
    return joined(
        (one.position, one.data) for one in chain if until is None or one.position <= until
    )


def _opened(spec: AgentSpec[S], position: int, data: Mapping[str, Any]) -> Loaded[S]:
    """The run in a checkpoint, or in the first entry; `position` entries led to it."""
    snapshot = passing_snapshot(data)
    run = run_of(spec, snapshot)
    return Loaded(run, position, snapshot.held)


def _opening(entries: Iterator[Entry], run_id: str) -> tuple[int, Mapping[str, Any]]:
    first = next(entries, None)
    if first is None:
        raise RunNotFoundError(f"the journal has no run {run_id!r}")
    if first.position != 0 or first.kind != STARTED:
        raise JournalDamagedError(f"the journal of run {run_id!r} does not begin with its start")
    return 1, first.data


def _followed(spec: AgentSpec[S], now: Loaded[S], more: Iterable[Entry]) -> Loaded[S]:
    """The run after more entries."""
    run, length, passed = now.run, now.length, now.passed
    for entry, data in with_data(more):
        require_position(run, entry, length)
        length += 1
        if entry.kind == FORGOTTEN:
            raise RunNotFoundError(f"the journal has no run {run.id!r} any more: it is forgotten")
        if entry.kind == STOPPED:
            passed = tuple(map(key_from_json, _held(data)))
        else:
            passed = ()
            _, run = event_and_run(spec, run, entry, data)
    return Loaded(run, length, passed, now.known)


def require_position(run: Run[Any], entry: Entry, position: int) -> None:
    """Raise JournalDamagedError unless the entry stands at `position`."""
    if entry.position != position:
        raise JournalDamagedError(
            f"the journal of run {run.id!r} is damaged: entry {position} is not there"
        )


def event_and_run(
    spec: AgentSpec[S], run: Run[S], entry: Entry, data: Mapping[str, Any]
) -> tuple[Event, Run[S]]:
    """The event in an entry, and the run after it.

    Raises:
        StoredDataError: it is damaged, or this agent makes another run of it.
    """
    try:
        event, mark = marked_event(spec, entry.kind, data)
        after = step(spec, run, event)
    except DetentError as error:
        raise StoredDataError(
            f"entry {entry.position} of run {run.id!r} ({entry.kind:.40}) cannot be followed: "
            f"{error}"
        ) from error
    is_same = after is not run if mark is None else mark == progress_mark(after)
    if not is_same:
        raise StoredDataError(
            f"entry {entry.position} of run {run.id!r} ({entry.kind:.40}) left the run at "
            f"{mark or 'another place'!r:.200}, and with this agent at "
            f"{progress_mark(after)!r}: the agent's rules have "
            f"changed since{_lack(spec, event)}"
        )
    return event, after


def marked_event(spec: AgentSpec[Any], kind: str, data: Mapping[str, Any]) -> tuple[Event, object]:
    """The event in an entry's data, and the mark behind it, or None.

    Raises:
        StoredDataError: there is none, or it names what this agent does not have.
    """
    rest = dict(data)
    mark = rest.pop("mark", None)
    return event_of_kind(spec, kind, rest), mark


def _lack(spec: AgentSpec[Any], event: Event) -> str:
    """Which of the tools that the model has called this agent has not got, to end a sentence."""
    calls = event.reply.message.tool_calls if isinstance(event, ModelReplied) else ()
    own = spec.tools if spec.output is None else {*spec.tools, spec.output.name}
    names = dict.fromkeys(call.tool_name for call in calls if call.tool_name not in own)
    return f"; it has no tool {', '.join(map(repr, names))}" if names else ""


def _held(data: Mapping[str, Any]) -> Iterable[object]:
    held: object = data.get("held")
    return held if isinstance(held, list) else [held]
