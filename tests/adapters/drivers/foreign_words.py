"""A journal in which others say something right before an append, and what they may say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from threading import Event as Flag
from typing import Any, TypeAlias

from attrs import define, field

from detent import Agent
from detent.adapters.drivers.loading import loaded
from detent.adapters.drivers.recording import Recorder
from detent.adapters.system.clocks import ManualClock
from detent.machine import Event, Run, step
from detent.ports.journal import Checkpoint, Entry, Journal
from detent.ports.listing import ALL_RUNS, RunQuery, StoredRun

RUN = "r"
Words: TypeAlias = Callable[[Journal], object]
Seen: TypeAlias = list[tuple[Run[Any], Event, Run[Any]]]


@define
class Overheard:
    """A driver's handle on a store: what `before` says for an append is done first, by others.

    `are_asked` is set once so many `humans` are asked, and `failure` is raised instead of reading.
    """

    store: Journal
    before: Callable[[Sequence[str]], Words | None]
    humans: int = 0
    are_asked: Flag = field(factory=Flag)
    failure: BaseException | None = None

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the port says, but others are faster."""
        kinds = [entry.kind for entry in entries]
        if (words := self.before(kinds)) is not None:
            words(self.store)
        self.store.append(run_id, entries, checkpoint)
        if max(entry.text.count("AwaitingDecision") for entry in entries) >= self.humans:
            self.are_asked.set()

    def read(self, run_id: str, start: int = 0) -> Iterable[Entry]:
        """As the port says."""
        if self.failure is not None:
            raise self.failure
        return self.store.read(run_id, start)

    def checkpoints(self, run_id: str) -> Iterable[Checkpoint]:
        """As the port says."""
        return self.store.checkpoints(run_id)

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[StoredRun]:
        """As the port says."""
        return self.store.runs(query)

    def delete(self, run_id: str) -> None:
        """As the port says."""
        self.store.delete(run_id)


def in_turn(*steps: tuple[str, Words]) -> Callable[[Sequence[str]], Words | None]:
    """Each once, before the first append of such an event that comes behind the step before it."""
    left = list(steps)

    def before(kinds: Sequence[str]) -> Words | None:
        return left.pop(0)[1] if left and left[0][0] in kinds else None

    return before


def once(kind: str, *words: Words) -> Callable[[Sequence[str]], Words | None]:
    """One after the other, before each append of such an event."""
    return in_turn(*((kind, one) for one in words))


def written(agent: Agent[Any, Any], *events: Event) -> Words:
    """Another process writes events to the run."""

    def write(store: Journal) -> None:
        at = loaded(store, agent.spec, RUN)
        run, happened = at.run, []
        for event in events:
            run = step(agent.spec, run, event)
            happened.append((event, run))
        Recorder(store, agent.spec, ManualClock(0.0), at)(happened)

    return write


def assert_in_order(seen: Seen, agent: Agent[Any, Any], store: Journal, start: int = 1) -> None:
    """Observers have seen what the journal has, each once, in its order, with the runs between."""
    changes = [one for one in seen if one[2] is not one[0]]
    stored = [entry.kind for entry in store.read(RUN, start)]
    assert [type(event).__name__ for _, event, _ in changes] == stored
    for (_, _, after), (before, _, _) in pairwise(changes):
        assert before is after
    assert [run for _, _, run in changes[-1:]] == [
        loaded(store, agent.spec, RUN, from_start=True).run for _ in stored[-1:]
    ]
