"""What has happened to a run that an engine follows, and is not known to be in the journal."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

from attrs import define, field

from detent.adapters.hosts.effects.history import Json, size_of
from detent.core.control.rebase import is_from_others, rebase
from detent.core.machine.step import step
from detent.core.run.events import Event
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec
from detent.core.storage.journal import event_from_json, event_to_json
from detent.ports.journal import JournalDamagedError


@define(slots=False, eq=False)
class Happened:
    """An event that is not known to be in the journal: also as JSON, and the run after it."""

    event: Event
    data: Json
    after: Run[Any]

    @cached_property
    def size(self) -> int:
        """How many bytes it has on its way."""
        return size_of(self.data)


@define(eq=False)
class Backlog:
    """What comes behind the journal, as far as that is known.

    Attributes:
        base: the run as it is known to be in the journal.
        length: how many entries it has there.
        happened: what comes behind them, in order.
    """

    base: Run[Any]
    length: int
    happened: list[Happened] = field(init=False, factory=list)
    _void: list[Json] = field(init=False, factory=list)

    @property
    def end(self) -> int:
        """How many entries the run has once all is written."""
        return self.length + len(self.happened)

    @property
    def size(self) -> int:
        """How many bytes are unwritten."""
        return sum(one.size for one in self.happened)

    def fitting(self, room: int | None) -> list[Happened]:
        """What fits, from the first one on, which goes by itself if it must."""
        if room is None:
            return list(self.happened)
        sizes = enumerate(accumulate(one.size for one in self.happened))
        count = next((place for place, size in sizes if size > room), len(self.happened))
        return self.happened[: max(1, count)]

    def written(self, until: int) -> None:
        """The journal has so many entries at least."""
        if (count := until - self.length) > 0:
            self.base = self.happened[count - 1].after
            del self.happened[:count]
            self.length = until

    def rebase(self, spec: AgentSpec[Any], at: int, entries: Sequence[Json]) -> list[Event] | None:
        """The journal has these from `at` on: what is not among them comes behind that.

        It gives what that is, as far as it still counts; None where all of them were known.

        RULE: nobody but people writes there, and workers what has happened here. What another
        driver has begun, nobody here may begin.

        Raises:
            JournalDamagedError: another driver has written there.
        """
        theirs = list(entries[max(0, self.length - at) :])  # of the rest it has been heard already
        self.written(at)
        while theirs and self.happened and self.happened[0].data == theirs[0]:
            self.written(self.length + 1)
            del theirs[0]
        if not theirs:
            return None
        # RULE: what counts no longer here may be written yet, by a job that was begun before
        said = without(theirs, [*(one.data for one in self.happened), *self._void])
        if not all(is_from_others(event_from_json(spec, one)) for one in said):
            raise JournalDamagedError(
                f"another driver has written to run {self.base.id!r}, which an engine drives by "
                "its effects: give hosts of another kind another store"
            )
        own = without([one.data for one in self.happened], theirs)
        for one in theirs:
            self.base = step(spec, self.base, event_from_json(spec, one))
        self.length, self.happened = self.length + len(theirs), []
        still = still_counted(spec, self.base, [event_from_json(spec, one) for one in own])
        self._void += without(own, [event_to_json(spec, event) for event in still])
        return still


def still_counted(spec: AgentSpec[Any], run: Run[Any], events: Sequence[Event]) -> list[Event]:
    """What of events counts behind what people have said meanwhile."""
    rebased = rebase(spec, run, events)
    return [event for before, event, after in rebased if after is not before]


def without(events: Sequence[Json], others: Sequence[Json]) -> list[Json]:
    """The events that are not among others, each as often as there.

    RULE: what people say is written before it is heard, so that it is there, or is yet to be found
    there. Heard once more, a message would be read twice.
    """
    left, found = list(others), list[Json]()
    for event in events:
        if event in left:
            left.remove(event)
        else:
            found.append(event)
    return found
