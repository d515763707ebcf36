"""A fold: a run, what was folded into it, and what of that is still to be recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Generic, TypeAlias

from detent.adapters.drivers.steps import NO_STEPS, Steps
from detent.core.control.hooks import Hook, sent_back
from detent.core.control.rebase import Folded, rebased
from detent.core.errors import DetentError
from detent.core.machine.step import step
from detent.core.run.events import Event
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec
from detent.core.state.typevars import S
from detent.ports.journal import JournalConflictError, JournalError, JournalUnavailableError
from detent.ports.observer import Observer

Changes: TypeAlias = Sequence[tuple[Event, Run[Any]]]
"""Events that have changed a run, each with the run after it."""
Record: TypeAlias = Callable[[Changes], object]
"""Keeps events that have happened. One that must wait for it may have a method `recording`, which
gives the steps of the same."""
Missed: TypeAlias = Callable[[Run[S], Sequence[Event]], Steps[Sequence[Folded[S]]]]
"""What was said elsewhere to a run to which these events could not be recorded; nothing if somebody
else drives it now, who is then told what they know."""


class SessionLeftError(DetentError, RuntimeError):
    """A session is asked for its run after it was left."""


class Fold(Generic[S]):
    """Folds events into a run, and has them recorded before anybody else hears of them.

    These are two steps: `add` folds, `settle_steps` records and tells the observers. Where an
    event cannot be recorded, it has not happened.
    """

    def __init__(
        self,
        spec: AgentSpec[S],
        run: Run[S],
        *,
        observers: Sequence[Observer] = (),
        record: Record | None = None,
        missed: Missed[S] | None = None,
        hooks: Sequence[Hook] = (),
    ) -> None:
        self._spec = spec
        self.run = run
        self._unsettled: list[Folded[S]] = []
        self._observers = tuple(observers)
        self._record = record
        self._recording: Callable[[Changes], Steps[object]] | None
        self._recording = getattr(record, "recording", None)
        self._missed = missed
        self._hooks = hooks
        self.is_behind = False  # people have spoken since it was found out what is owed
        self._is_undone = False  # the last that was folded in could not be recorded

    @cached_property
    def run(self) -> Run[S]:
        """The run with all that was folded in. Without a value, `leave` has taken it away."""
        raise SessionLeftError(
            "this session holds its run no longer: whoever drove it has given its result, or "
            "raised; go on with that result's run, or with Agent.resume, in another session"
        )

    def leave(self) -> None:
        """Hold the run no longer."""
        self._unsettled = []
        vars(self).pop("run", None)  # gone already, if it was left before

    def add(self, event: Event) -> None:
        """Fold in an event, and what the hooks that guard the end of the run answer to that."""
        before = self.run
        run = step(self._spec, before, event)
        back = sent_back(self._hooks, run) if self._hooks and run is not before else None
        self._unsettled.append((before, event, run))
        if back is not None:
            before, run = run, step(self._spec, run, back)
            self._unsettled.append((before, back, run))
        self.run = run

    def add_all(self, events: Sequence[Event]) -> None:
        """Fold in all events, or none."""
        run, before = self.run, len(self._unsettled)
        try:
            for event in events:
                self.add(event)
        except BaseException:
            self.run = run
            del self._unsettled[before:]
            raise

    def settle_steps(self) -> Steps[None]:
        """Record what has been folded in, and tell the observers; or it has not happened."""
        return self._settle() if self._unsettled else NO_STEPS

    def _settle(self) -> Steps[None]:
        folded, self._unsettled = self._unsettled, []
        if self._record is not None:
            missed: Sequence[Folded[S]] = ()
            changes = [(event, after) for before, event, after in folded if after is not before]
            try:
                if changes and self._recording is not None:
                    yield from self._recording(changes)
                elif changes:
                    self._record(changes)
            except JournalConflictError:
                self._undo(folded[0][0])
                missed = (
                    ()
                    if self._missed is None
                    else (yield from self._missed(self.run, [event for _, event, _ in folded]))
                )
                if not missed:
                    raise
            except BaseException:
                self._undo(folded[0][0])
                raise
            if missed:
                yield from self._rebased(folded, missed)
                return
        if self._observers:  # most runs have none
            self._tell(folded)

    def settle_each_steps(self) -> Steps[None]:
        """As `settle_steps`. What cannot be recorded takes nothing with it that came beside it."""
        folded, self._is_undone = self._unsettled, False
        try:
            yield from self.settle_steps()
        except JournalUnavailableError:
            raise  # that took its time: nobody waits as long for each
        except Exception:
            were_undone = len(folded) > 1 and self._is_undone
            for _, event, _ in folded if were_undone else ():
                try:
                    self.add_all([event])
                    yield from self.settle_steps()
                except Exception:  # noqa: BLE001, S110 - the first one is on its way
                    pass
            raise

    def interruptions(self) -> tuple[BaseException, ...]:
        """What has interrupted the record in the meantime, although it was written."""
        seen: list[BaseException] = getattr(self._record, "interruptions", [])
        taken = tuple(seen)
        del seen[: len(taken)]
        return taken

    def news_steps(self) -> Steps[None]:
        """Fold in what people have written elsewhere, and tell the observers."""
        yield from self.settle_steps()
        if self._missed is None:
            return
        missed: Sequence[Folded[S]] = ()
        with suppress(JournalError):  # whoever records the next event meets it, and says so
            missed = yield from self._missed(self.run, ())
        if missed:
            yield from self._rebased((), missed)

    def _tell(self, folded: Sequence[Folded[S]]) -> None:
        for one in folded:
            for observe in self._observers:
                observe(*one)

    def _undo(self, run: Run[S]) -> None:
        """Nothing has happened since `run`."""
        self.run, self._is_undone = run, True

    def _rebased(self, folded: Sequence[Folded[S]], missed: Sequence[Folded[S]]) -> Steps[None]:
        """Fold in once more what could not be recorded, behind what people have said, and settle.

        RULE: whatever an observer raises about the one, the other is recorded.
        """
        self.run, self.is_behind = missed[-1][2], True
        try:
            self._tell(missed)
        finally:
            events = [event for _, event, _ in folded]
            self._unsettled = rebased(self._spec, self.run, events, self._hooks)
            if self._unsettled:
                self.run = self._unsettled[-1][2]
            self._is_undone = False
            yield from self.settle_steps()
