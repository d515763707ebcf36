"""History: the runs of a journal, looked at as they were, tried again from there, forgotten."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Generic

from attrs import evolve as evolve_value
from attrs import field, frozen

from detent.adapters.drivers.loading import FORGOTTEN, Loaded, loaded, settled_lengths
from detent.adapters.drivers.progress import Progress, Watch
from detent.adapters.system.chance import SystemChance
from detent.adapters.system.clocks import SystemClock
from detent.adapters.system.hearing import announce
from detent.core.chat.messages import ChatMessage, labels_of
from detent.core.machine.recovery import rebind, without_clearances
from detent.core.machine.turns import next_turn, with_unread
from detent.core.run.run import Acting, Done, Run, evolve, with_labels
from detent.core.run.spec import AgentSpec
from detent.core.state.keys import Write
from detent.core.state.state import initial_writes
from detent.core.state.typevars import S
from detent.core.storage.snapshot import AgentSnapshot, snapshot_of
from detent.ports.chance import Chance
from detent.ports.clock import Clock
from detent.ports.journal import (
    Entry,
    Journal,
    JournalConflictError,
)
from detent.ports.listing import ENDED, Cursor, RunQuery, StoredRun
from detent.ports.names import name_fault


def _is_spec(instance: Any, attribute: object, value: object) -> None:
    journal = instance.journal
    if not (isinstance(value, AgentSpec) and hasattr(journal, "read")):
        given = f"{type(journal).__name__}, {type(value).__name__}"
        raise TypeError(f"write Runs(journal, agent.spec), got Runs({given})")


@frozen
class Runs(Generic[S]):
    """The runs of a journal, read with the rules of an agent: ``Runs(journal, agent.spec)``."""

    journal: Journal
    spec: AgentSpec[S] = field(repr=False, validator=_is_spec)
    chance: Chance = field(factory=SystemChance, repr=False)
    clock: Clock = field(factory=SystemClock, repr=False)

    def list(
        self,
        status: str | None = None,
        *,
        agent: str | None = None,
        thread_id: str | None = None,
        label: str | None = None,
        before: StoredRun | Cursor | None = None,
        limit: int | None = None,
    ) -> Sequence[StoredRun]:
        """The runs and what a list says of them, the one last written to first.

        Pages go by places: ``runs.list(limit=50)``, and then ``runs.list(limit=50, before=last)``
        with the last run of the page before, or its `cursor`.

        Args:
            status: only those that are "running", "waiting", "failed", "cancelled",
                "done" or "damaged".
            agent: only those of agents of this name.
            thread_id: only those of this conversation.
            label: only those that have read what bears this label, see `Tool.labels`.
            before: only those behind this one in the list.
            limit: how many at most.

        Raises:
            JournalError: they cannot be read.
            ValueError: `status` is none of these, `limit` is below 1, or `before` is no place
                in a list.
        """
        query = RunQuery(status, agent, thread_id, before, limit, label=label)
        return self.journal.runs(query) if query.is_possible else ()

    def at(self, run_id: str, length: int | None = None) -> Run[S]:
        """The run as it was after its first `length` entries; None is all.

        Raises:
            RunNotFoundError: there is no such run.
            StoredDataError: what is stored is damaged, or these rules make another run of it.
        """
        return loaded(self.journal, self.spec, run_id, length).run

    def replay(self, run_id: str) -> Run[S]:
        """The run, made again of all its events from the first, without a checkpoint.

        Raises:
            RunNotFoundError: there is no such run.
            StoredDataError: it is another run than the stored one; the message says from which
                entry on.
        """
        return loaded(self.journal, self.spec, run_id, from_start=True).run

    def watch(
        self,
        run_id: str,
        after: int | None = None,
        *,
        until_waiting: bool = False,
        timeout_s: float | None = None,
    ) -> Generator[Progress[S]]:
        """What is written to a run, by any process, from a position on, as it is written.

        It ends when the run has ended. Each entry comes once and in order, and says its position:
        whoever goes on `after` the last one that they have seen misses nothing and sees nothing
        twice. What this process writes is seen at once, and what others write as soon as the store
        tells of it (`ForeignNotices`); one that does not is looked at ever more rarely, at least
        once a second.

        Args:
            run_id: the run; it must be there, as an id with a slip would be waited for for ever.
            after: the position behind which to begin; None is the beginning.
            until_waiting: end also where the run waits for a human, or has stopped at a breakpoint.
            timeout_s: end also when nothing was written for so long.

        Raises:
            RunNotFoundError: there is no such run; or, later, it has been deleted in the meantime.
            ValueError: the run has no entry at `after`.
            StoredDataError: what is stored is damaged, or these rules make another run of it.
            JournalError: it cannot be read. What was given stands: go on from there.
        """
        watch = Watch(self.journal, self.spec, run_id, after, until_waiting=until_waiting)
        watch.open()
        return watch.run(self.clock, timeout_s)

    def watch_async(
        self,
        run_id: str,
        after: int | None = None,
        *,
        until_waiting: bool = False,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[Progress[S]]:
        """As `watch`, in an event loop. The journal is read in threads, also for the first time.

        So that the run is not there is raised with the first entry.
        """
        watch = Watch(self.journal, self.spec, run_id, after, until_waiting=until_waiting)
        return watch.run_async(self.clock, timeout_s)

    def fork(
        self,
        run_id: str,
        length: int | None = None,
        *,
        messages: Sequence[ChatMessage] = (),
        **state: object,
    ) -> AgentSnapshot:
        """A new run that begins as this one was after its first `length` entries.

        Nothing that was confirmed for this one counts for it: a guarded call without an answer is
        judged anew.

        Any agent with the same tools and state goes on with it, one with another model as well:
        ``agent.run(snapshot=runs.fork("run-1", 5))``.

        Args:
            run_id: the run to begin from; it stays as it is.
            length: how many of its entries; None is all.
            messages: what is said next. A run that has ended goes on with it.
            state: values that take the place of the state's.

        Raises:
            ValueError: the run has fewer entries; or there are messages, and calls of the model
                that are not answered yet.
            StateError: `state` has an unknown key or a value of the wrong type.
            UnstorableError: something in `messages` or `state` cannot be written as JSON.
            RunNotFoundError: there is no such run.
            StoredDataError: what is stored is damaged, or these rules make another run of it.
        """
        fork = self.forked(run_id, length, messages, state)
        return evolve_value(snapshot_of(self.spec, fork.run), fork_of=fork.fork_of)

    def forked(
        self,
        run_id: str,
        length: int | None,
        messages: Sequence[ChatMessage],
        state: Mapping[str, object],
    ) -> Loaded[S]:
        """The same as a run to begin with. Raises as `fork`."""
        found = loaded(self.journal, self.spec, run_id, length)
        if length is not None and length > found.length:
            raise ValueError(f"run {run_id!r} has {found.length} entries, and not {length}")
        run = rebind(found.run, self.chance.new_id(), self.chance.new_id())
        run = without_clearances(self.spec, run)
        writes = [*initial_writes(state), *([Write("messages", messages)] if messages else [])]
        if messages and isinstance(run.phase, Acting):
            raise ValueError(self._unanswered(run_id, found.length))
        if messages:
            run = with_unread(run)  # was said before
        written = run.state.update(writes)
        run = with_labels(run, labels_of(messages))
        goes_on = messages and isinstance(run.phase, Done)
        new = next_turn(run, written) if goes_on else evolve(run, state=written)
        return Loaded(new, 0, fork_of={"run_id": run_id, "entries": found.length})

    def _unanswered(self, run_id: str, length: int) -> str:
        """Why nothing can be said there, and the nearest places where it can."""
        lengths = settled_lengths(self.journal, self.spec, run_id)
        earlier = [count for count in lengths if count < length][-1:]
        near = earlier + [count for count in lengths if count > length][:1]
        way = f"{' or '.join(map(str, near))} of its entries, or " if near else ""
        return (
            f"after {length} entries run {run_id!r} has calls that are not answered, and nothing "
            f"can be said to its model there; fork it {way and 'after '}{way}without a message"
        )

    def delete(self, run_id: str) -> None:
        """Delete a run, whatever its status; nothing happens when there is no such run.

        Whoever works on it gets a `JournalConflictError` with the next thing that happens.

        Raises:
            JournalError: it cannot be deleted.
        """
        if name_fault("run_id", run_id) is None:
            self.journal.delete(run_id)
            announce(run_id)

    def forget(self, before: float) -> Sequence[str]:
        """Delete the runs that have ended, and were last written to before a time since 1970.

        Those that have failed count as ended. One that somebody goes on with in the meantime stays:
        a last entry is written first, and whoever comes second is refused. Gives their ids.

        Raises:
            JournalError: one cannot be deleted; those before it are.
        """
        forgotten: list[str] = []
        for run in self.list():
            if run.status in ENDED and run.at < before:
                last = Entry(run.length, run.at, FORGOTTEN, run.status, {})
                with suppress(JournalConflictError):
                    self.journal.append(run.run_id, [last])
                    self.delete(run.run_id)
                    forgotten.append(run.run_id)
        return forgotten
