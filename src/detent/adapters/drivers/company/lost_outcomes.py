"""Lost outcomes: what a driver that has lost its run knows of calls, told to whoever has it now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Protocol, TypeAlias

from attrs import frozen

from detent.adapters.drivers.company.marks import is_awaited, outcomes_of
from detent.adapters.drivers.loading import Loaded, loaded
from detent.adapters.drivers.steps import Steps, answer
from detent.core.codec.own_forms import data_of
from detent.core.control.rebase import is_from_others, still_heard
from detent.core.errors import StoredDataError
from detent.core.run.events import Event
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec
from detent.ports.journal import Journal, JournalConflictError, RunNotFoundError, with_data

TRIES = 20
"""How often an outcome is offered to a run that others write to all the time."""


class ForeignWriter(Protocol):
    """Writes to a run that it does not drive."""

    def recording(self, happened: Sequence[tuple[Event, Run[Any]]]) -> Steps[None]:
        """Write down events, each with the run after it."""
        ...

    def write(self, run: Run[Any], new: Sequence[tuple[str, Mapping[str, Any]]]) -> Steps[None]:
        """Write entries down: the kind of each, and its data."""
        ...


WriterAt: TypeAlias = Callable[[Loaded[Any]], ForeignWriter]
"""Gives who writes to a run as it is."""


@frozen
class LostOutcomes:
    """What a driver holds that has lost its run: `held`, of which it tells what it can."""

    journal: Journal
    spec: AgentSpec[Any]
    held: Sequence[Event]
    writer_at: WriterAt

    def tell(self, run: Run[Any], length: int) -> Steps[None]:
        """Write what has come of calls to a run that somebody else drives, or nobody.

        It is `run` as the driver has left it, with so many entries. RULE: a known outcome is only
        thrown away where the run has moved past it.
        """
        for _ in range(TRIES) if any(map(is_from_others, self.held)) else ():
            try:
                at = yield from answer(
                    self.journal, partial(loaded, self.journal, self.spec, run.id)
                )
                if at.run.nonce != run.nonce:
                    return  # another run of this id
            except RunNotFoundError:
                return  # it is deleted
            except StoredDataError:
                yield from self.tell_by_marks(run, length)
                raise
            heard = still_heard(self.spec, at.run, self.held)
            if not heard:
                return
            with suppress(JournalConflictError):  # its driver was faster: look again
                yield from self.writer_at(at).recording(heard)
                return

    def tell_by_marks(self, run: Run[Any], length: int) -> Steps[None]:
        """The same where the run goes on by other rules, as far as its entries say what it awaits.

        RULE: an outcome is that of its call, by whatever rules the call was begun.
        """
        outcomes = outcomes_of(self.held)
        read = partial(self.journal.read, run.id, length)
        for _ in range(TRIES) if outcomes else ():
            entries = yield from answer(self.journal, lambda: list(with_data(read())))
            awaited = [outcome for outcome in outcomes if is_awaited(entries, outcome)]
            if not awaited:
                return
            new = [(type(x).__name__, data_of(x, type(x), self.spec)) for x in awaited]
            with suppress(JournalConflictError):  # as above
                yield from self.writer_at(Loaded(run, length + len(entries))).write(run, new)
                return
