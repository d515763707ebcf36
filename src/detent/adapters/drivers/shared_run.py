"""A run that others write to as well: what they have said comes first, and ours behind it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, Generic, TypeAlias

from attrs import frozen

from detent.adapters.drivers.callbacks import ResultTeller
from detent.adapters.drivers.steps import Steps, Wait, at_once
from detent.core.control.hooks import Hook
from detent.core.control.rebase import Folded, rebase
from detent.core.errors import DetentError
from detent.core.machine.beginning import lapse_of
from detent.core.machine.delegation import wrap_event
from detent.core.machine.due import due
from detent.core.machine.step import step
from detent.core.run.effects import Effect, EffectKey, RunTool
from detent.core.run.events import Event, ToolNeverRan
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec
from detent.core.state.typevars import S
from detent.ports.claims import RunBusyError
from detent.ports.clock import Clock
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


@frozen
class Halt:
    """Put into an inbox: begin nothing more, and hear out what is at work. It is no event.

    The run does not know of it, and whoever resumes it goes on as if nothing had been. What only
    waits, for a human or a time, is dropped when nothing else is under way.
    """


@frozen
class News:
    """Put into an inbox: others have written to the run. It is no event; what they wrote is."""


NEWS = News()


class SessionLeftError(DetentError, RuntimeError):
    """A session is asked for its run after it was left."""


def _after(spec: AgentSpec[S], run: Run[S], event: Event) -> Run[S]:
    """The run after an event, with the digests of all that is owed: these are kept."""
    after = step(spec, run, event)
    due(spec, after)
    return after


@frozen
class Foresight(Generic[S]):
    """What a thread has found out for an event loop: the run after something that came.

    Attributes:
        before: the run that it came to.
        came: what came of an effect.
        event: the event of the outermost run that this is.
        after: the run after it.
    """

    before: Run[S]
    came: Event
    event: Event
    after: Run[S]


class SharedRun(ABC, Generic[S]):
    """A run, and what was folded into it and is still to be recorded.

    The usual way is in `Session`. Here is what few runs come to: that others have written, and that
    something cannot be recorded, which then has not happened.
    """

    spec: AgentSpec[S]
    _unsettled: list[Folded[S]]
    _clock: Clock
    _observers: tuple[Observer, ...]
    _missed: Missed[S] | None
    _hooks: tuple[Hook, ...]
    under_way: dict[EffectKey, Effect]
    _raised: tuple[BaseException, ...]
    _interrupted: list[BaseException]
    _is_behind: bool
    """People have spoken since it was found out what is owed."""
    _is_undone = False
    """The last that was folded in could not be recorded."""

    @abstractmethod
    def _add(self, event: Event) -> None:
        """Fold in an event."""
        ...

    @abstractmethod
    def settle_steps(self) -> Steps[None]:
        """Record what was left to be recorded with the next tools."""
        ...

    _foresight: Foresight[S] | None = None

    def _work_ahead(self, effect: Effect, came: Event) -> Steps[None]:
        """Find out what comes of an event, and is owed then, so that no event loop waits for it.

        RULE: it changes nothing. Where the run is another one when the event is folded in, or hooks
        have made another event of it, that is found out then.
        """
        run, event = self.folded, wrap_event(effect.path, came)
        with suppress(Exception):  # what it raises, it raises again where it is folded in
            after = yield Wait(partial(_after, self.spec, run, event))
            self._foresight = Foresight(run, came, event, after)

    def _wrapped(self, effect: Effect, came: Event) -> Event:
        """What came of an effect inside, as an event of the outermost run."""
        known = self._foresight
        if known is not None and known.came is came:
            return known.event
        return wrap_event(effect.path, came)

    def _foreseen(self, run: Run[S], event: Event) -> Run[S]:
        known, self._foresight = self._foresight, None
        if known is not None and known.before is run and known.event is event:
            return known.after
        return step(self.spec, run, event)

    @cached_property
    def folded(self) -> Run[S]:
        """The run with all that was folded in. Without a value, `leave` took it away."""
        raise SessionLeftError(
            "this session holds its run no longer: whoever drove it has given its result, or "
            "raised; go on with that result's run, or with Agent.resume, in another session"
        )

    def feed(self, *events: Event) -> None:
        """As `feed_steps`, blocking."""
        at_once(self.feed_steps(*events))

    def feed_steps(self, *events: Event) -> Steps[None]:
        """Fold in events from anywhere: all of them, or, when they cannot be recorded, none."""
        self._add_all(events)
        yield from self.settle_steps()

    def _add_all(self, events: Sequence[Event]) -> None:
        """Fold in all events, or none."""
        run, before = self.folded, len(self._unsettled)
        try:
            for event in events:
                self._add(event)
        except BaseException:
            self.folded = run
            del self._unsettled[before:]
            raise

    def running(self) -> list[RunTool]:
        """The tools that are under way. When a loop fails, hear these out.

        Whoever goes on with the run, as its journal could not be written, would run them again.
        """
        owed = {effect.key for effect in due(self.spec, self.folded)}
        begun = self.under_way.values()
        return [one for one in begun if isinstance(one, RunTool) and one.key in owed]

    def never_ran(self, effect: RunTool) -> ToolNeverRan:
        """That an attempt has not begun whose start is recorded: nobody else can know that."""
        may_lapse = lapse_of(self.folded, effect) is not None
        return ToolNeverRan(effect.ref, effect.attempt, self._clock.now() if may_lapse else None)

    def _settle_each(self) -> Steps[None]:
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
                    self._add_all([event])
                    yield from self.settle_steps()
                except Exception:  # noqa: BLE001, S110 - the first one is on its way
                    pass
            raise

    def _take_news(self) -> Steps[None]:
        """Fold in what people have written elsewhere, and tell the observers."""
        yield from self.settle_steps()
        if self._missed is None:
            return
        missed: Sequence[Folded[S]] = ()
        with suppress(JournalError):  # whoever records the next event meets it, and says so
            missed = yield from self._missed(self.folded, ())
        if missed:
            yield from self._rebased((), missed)

    def _settled(self, steps: Steps[None]) -> Steps[None]:
        """Who has lost the run hears whose it is, and not that a position is taken."""
        try:
            yield from steps
        except JournalConflictError:
            lost = [one for one in self._raised if isinstance(one, RunBusyError)]
            if not lost:
                raise
            raise lost[0] from None

    def _tell(self, folded: Sequence[Folded[S]]) -> Steps[None]:
        for before, event, after in folded:
            for observe in self._observers:
                if isinstance(observe, ResultTeller):
                    yield from observe.steps(before, after)
                else:
                    observe(before, event, after)

    def _undo(self, run: Run[S]) -> None:
        """Nothing has happened since `run`."""
        self.folded, self._is_undone = run, True

    def _rebased(self, folded: Sequence[Folded[S]], missed: Sequence[Folded[S]]) -> Steps[None]:
        """Fold in once more what could not be recorded, behind what people have said, and settle.

        RULE: whatever an observer raises about the one, the other is recorded.
        """
        self.folded, self._is_behind = missed[-1][2], True
        try:
            yield from self._tell(missed)
        finally:
            events = [event for _, event, _ in folded]
            self._unsettled = rebase(self.spec, self.folded, events, self._hooks)
            if self._unsettled:
                self.folded = self._unsettled[-1][2]
            self._is_undone = False
            yield from self.settle_steps()

    def _take_interruptions(self) -> None:
        """What has interrupted the record in the meantime, although it was written, is raised."""
        taken = tuple(self._interrupted)
        del self._interrupted[: len(taken)]
        self._raised += taken
