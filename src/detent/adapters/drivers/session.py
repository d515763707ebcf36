"""A session: the one mutable handle on a run, for our drivers and for loops of your own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from detent.adapters.control.breakpoints import NO_HOLD
from detent.adapters.drivers.hooked import HooksAround
from detent.adapters.drivers.shared_run import Changes, Halt, Missed, News, Record, SharedRun
from detent.adapters.drivers.steps import NO_STEPS, Steps, at_once
from detent.adapters.system.clocks import SystemClock
from detent.core.control.holds import Hold, place_of
from detent.core.control.hooks import Hook, HookError, sent_back
from detent.core.control.rebase import Folded
from detent.core.machine.beginning import lapse_of, may_begin
from detent.core.machine.delegation import wrap_event
from detent.core.machine.due import due
from detent.core.machine.step import step
from detent.core.run.effects import AskHuman, AskModel, Effect, EffectKey, Judge, RunTool, WaitUntil
from detent.core.run.events import CallRewritten, Event, ToolStarted
from detent.core.run.run import Run
from detent.core.run.sizes import LARGE_KINDS, is_large
from detent.core.run.spec import AgentSpec, Delegate
from detent.core.state.typevars import S
from detent.ports.claims import RunBusyError
from detent.ports.clock import Clock
from detent.ports.journal import JournalConflictError
from detent.ports.observer import Observer

REPEATABLE = (AskModel, Judge)
"""What may be done again without harm if a process ends before it is recorded what came of it."""
SILENT = ("limit", "expiry")
"""What is not waited for alone."""
WAITS = (AskHuman, WaitUntil)
"""What does no work: whoever goes on with the run waits for the same human, or the same time."""

Landed: TypeAlias = tuple[Effect, Event | BaseException | None]
"""What came of an effect."""


class Session(SharedRun[S]):
    """Holds a run and knows which of its effects are under way.

    A loop does three things, in any order and as often as it likes: `take` what is new and perform
    it, `land` what came of it, and drop the work on what has become `void`. When `take` gives
    nothing and nothing is under way, the run has ended, waits for somebody, or has stopped at a
    breakpoint: `held` has what is owed and must wait.

    What lands is recorded at once, before anybody sees it, with one exception: what the model or a
    policy has said while nothing else was under way is recorded with the tools that the next `take`
    starts, in one append. Whoever looks at the run before that has it recorded first.

    Args:
        observers: each sees every event.
        clock: tells when a tool is started that may only take so long.
        hold: says whether an effect must wait.
        passed: the places where the run has stopped before, and goes on now.
        record: is given the events that change the run before they count. What it raises is raised,
            and they have not happened.
        missed: is asked when `record` raises `JournalConflictError`: what people have said comes
            first then, and what the session holds is recorded behind it, as far as it still counts.
            Without it, or when it gives nothing, the error is raised.
        hooks: stand around model calls, tools and the end of the run. What one of them raises is
            kept for `close`, and what it was about has not happened.
        inner_hooks: those of the agents at work inside the run, by their names from the outermost.
    """

    def __init__(
        self,
        spec: AgentSpec[S],
        run: Run[S],
        *,
        observers: Sequence[Observer] = (),
        clock: Clock | None = None,
        hold: Hold = NO_HOLD,
        passed: Collection[EffectKey] = (),
        record: Record | None = None,
        missed: Missed[S] | None = None,
        hooks: Sequence[Hook] = (),
        inner_hooks: Mapping[tuple[str, ...], Sequence[Hook]] | None = None,
    ) -> None:
        self.spec = spec
        self.folded = run
        self._unsettled = []
        self._observers = tuple(observers)
        self._record, self._missed = record, missed
        self._recording: Callable[[Changes], Steps[object]] | None
        self._recording = getattr(record, "recording", None)
        self._interrupted: list[BaseException] = getattr(record, "interruptions", [])
        self.waits = bool(getattr(record, "waits", False))
        self._clock = SystemClock() if clock is None else clock
        self._hold = hold
        self._passed = tuple(passed)
        self._hooks = tuple(hooks)
        has_hooks = bool(hooks or inner_hooks)
        self._around = HooksAround(self._hooks, dict(inner_hooks or {})) if has_hooks else None
        self.open()

    @property
    def run(self) -> Run[S]:
        """The run, as it is recorded."""
        if self._unsettled:
            at_once(self._settle())
        return self.folded

    def open(self) -> None:
        """Begin a loop: nothing is under way, and what an earlier one left is offered again."""
        self.under_way: dict[EffectKey, Effect] = {}
        self.held: tuple[Effect, ...] = ()
        # Tuples: an empty one is no object of its own, for which the collector takes time as well.
        self._left: tuple[EffectKey, ...] = ()
        self._raised: tuple[BaseException, ...] = ()
        self._answers: tuple[Event, ...] = ()
        self._void: tuple[Effect, ...] = ()
        self.has_void = False  # and so it costs a look
        self._is_behind = False
        self._foresight = None
        self._rewritten: tuple[EffectKey, ...] = ()  # the calls that hooks have changed
        self._is_halted = False  # nothing new is begun in this loop

    def take(self) -> list[Effect]:
        """As `take_steps`, blocking."""
        steps = self.take_steps()
        try:
            wait = next(steps)
        except StopIteration as end:  # nothing is waited for: the usual case, and the quick one
            taken: list[Effect] = end.value
            return taken
        return at_once(steps, wait)

    def take_steps(self) -> Steps[list[Effect]]:
        """The effects that are owed and not under way yet; from now on they are.

        Tools are recorded as started first, with the time if they may only take so long; of a tool
        that is an agent, what that owes then takes its place. Effects
        that are no longer owed are no longer under way. Once something was raised, nothing new is
        begun. What it raises itself, it raises before anything is under way.
        """
        known = tuple(self.under_way)
        try:
            fresh = yield from self._begun()
            while self._answers:
                answers, self._answers = self._answers, ()
                yield from self.feed_steps(*answers)
                fresh |= yield from self._begun()
                fresh = {key: one for key, one in fresh.items() if key in self.under_way}
        except BaseException:  # nobody is given what has been begun
            self.under_way = {key: self.under_way[key] for key in known if key in self.under_way}
            raise
        for effect in self.under_way.values():
            if not isinstance(effect, WaitUntil) or effect.reason not in SILENT:
                return list(fresh.values())
        self._keep(())  # nobody waits for the end of its time alone, or a question's
        return []

    def _keep(self, owed: Collection[EffectKey]) -> None:
        kept = {key: one for key, one in self.under_way.items() if key in owed}
        if len(kept) < len(self.under_way):
            self._void += tuple(one for key, one in self.under_way.items() if key not in kept)
            self.has_void = True
        self.under_way = kept

    def _begun(self) -> Steps[dict[EffectKey, Effect]]:
        if self._unsettled and (self._around is not None or self._hold is not NO_HOLD):
            yield from self._settle()  # they are asked about the run as it is recorded
        fresh = self._fresh()
        if self._around is not None:
            fresh = self._sent(self._around, fresh)
        is_more_owed = False
        for effect in fresh.values():
            if isinstance(effect, RunTool):
                is_more_owed |= self._start(effect)
        if self._unsettled:
            yield from self._settle()
        if not (is_more_owed or self._is_behind):
            self.under_way |= fresh
            return fresh
        if self._is_behind:  # a tool whose start came too late must not run
            owed = {effect.key for effect in due(self.spec, self.folded)}
            fresh = {key: effect for key, effect in fresh.items() if key in owed}
        fresh = {  # in the place of a call of an agent stands what that owes
            key: effect
            for key, effect in fresh.items()
            if not (isinstance(effect, RunTool) and isinstance(effect.tool, Delegate))
        }
        self.under_way |= fresh
        fresh |= yield from self._begun()  # in the course of which people may speak as well
        return {key: effect for key, effect in fresh.items() if key in self.under_way}

    def _sent(
        self, around: HooksAround, fresh: Mapping[EffectKey, Effect]
    ) -> dict[EffectKey, Effect]:
        """The effects as the hooks want them, without those that one of them has answered."""
        begun: dict[EffectKey, Effect] = {}
        for key, effect in fresh.items():
            sent: Effect | Event = effect
            try:
                if place_of(effect) not in self._rewritten:  # else it was judged as they made it
                    sent = around.sent(effect, self.folded)
            except HookError as error:
                self._raised += (error,)
                self._left += (key,)
                continue
            if isinstance(sent, Effect):
                begun[key] = sent
                continue
            self._rewritten += (place_of(effect),) if isinstance(sent, CallRewritten) else ()
            self._answers += (wrap_event(effect.path, sent),)
        return begun

    def _start(self, effect: RunTool) -> bool:
        """Say that it begins; whether more is owed then: a wait, or what its agent owes."""
        is_timed = effect.tool.timeout_s is not None or isinstance(effect.tool, Delegate)
        at, run = self._clock.now() if is_timed else None, self.folded
        if run.decisions and lapse_of(run, effect) is not None:
            at = self._clock.now()  # and where it may not begin then, it is judged anew
            self._is_behind |= not may_begin(self.spec, run, effect, at)
        started = ToolStarted(effect.ref, effect.attempt, at)
        self._add(wrap_event(effect.path, started) if effect.path else started)
        return is_timed

    def _fresh(self) -> dict[EffectKey, Effect]:
        self._is_behind = False
        if self._interrupted:
            self._take_interruptions()
        owed = {}
        for effect in due(self.spec, self.folded):
            owed[effect.key] = effect
        if self.under_way:
            self._keep(owed)
        if self._is_halted:
            self.held = ()  # a breakpoint that nobody is told of has stopped nothing
            if all(isinstance(one, WAITS) for one in self.under_way.values()):
                self._keep(())
            return {}
        new = owed
        if self.under_way or self._left:
            known = self.under_way.keys() | self._left
            new = {key: one for key, one in owed.items() if key not in known}
        if self._hold is not NO_HOLD:
            self.held = tuple(
                effect
                for effect in new.values()
                if place_of(effect) not in self._passed and self._hold(self.folded, effect)
            )
            new = {key: effect for key, effect in new.items() if effect not in self.held}
        return {} if self._raised else new

    def void(self) -> list[Effect]:
        """The effects that were under way and are no longer owed, each once: drop the work."""
        void, self._void, self.has_void = self._void, (), False
        return list(void)

    def put_back(self, effect: Effect) -> None:
        """Give back an effect that was taken and not begun."""
        del self.under_way[effect.key]

    def land(self, effect: Effect, came: Event | BaseException | None) -> None:
        """As `land_steps`, blocking: no event loop waits for what is large."""
        if self._around is not None:
            at_once(self.settle_steps())
        if (steps := self._landed(effect, came)) is not NO_STEPS:
            at_once(steps)

    def land_steps(self, effect: Effect, came: Event | BaseException | None) -> Steps[None]:
        """Fold in what came of `effect`, unless it is no longer under way.

        Where that settles nothing (None, a decision that does not fit, an exception), the effect
        stays owed and is not offered again. An exception is kept for `close`.
        """
        is_behind = self._around is not None and self._unsettled  # they are told what is recorded
        if is_behind or (type(came) in LARGE_KINDS and is_large(came)):
            return self._land_behind(effect, came)
        return self._landed(effect, came)

    def _landed(self, effect: Effect, came: Event | BaseException | None) -> Steps[None]:
        self._land(effect, came)
        if not (self._unsettled and (self.under_way or not isinstance(effect, REPEATABLE))):
            return NO_STEPS
        return self._settled(self._settle()) if self._raised else self._settle()

    def _land_behind(self, effect: Effect, came: Event | BaseException | None) -> Steps[None]:
        """As `land_steps`, once all is recorded that came before; what is large holds no loop."""
        yield from self.settle_steps()
        if is_large(came):
            yield from self._work_ahead(effect, came)
        yield from self._landed(effect, came)

    def hear(self, items: Iterable[Event | Landed | Halt | News]) -> None:
        """As `hear_steps`, blocking."""
        at_once(self.hear_steps(items))

    def hear_steps(self, items: Iterable[Event | Landed | Halt | News]) -> Steps[None]:
        """Fold in events from outside and what came of effects; together they are recorded.

        With `News` among them, what others have written is folded in as well.
        """
        may_wait, is_told = True, False
        try:
            for item in items:
                if isinstance(item, Halt):
                    self._is_halted = True
                elif isinstance(item, News):
                    is_told = True
                elif isinstance(item, tuple):
                    effect, came = item
                    may_wait = may_wait and isinstance(effect, REPEATABLE)
                    if self._around is not None:  # as above
                        yield from self.settle_steps()
                    if type(came) in LARGE_KINDS and is_large(came):
                        yield from self._work_ahead(effect, came)
                    self._land(effect, came)
                else:
                    may_wait = False
                    self._add(item)
        except BaseException:
            yield from self._settle_each()
            raise
        if self.under_way or not may_wait:
            yield from self._settled(self._settle_each())
        if is_told:
            yield from self._take_news()

    def _land(self, effect: Effect, came: Event | BaseException | None) -> None:
        key = effect.key
        if self.under_way.get(key) is not effect:
            return
        del self.under_way[key]
        before = self.folded
        try:
            if isinstance(came, BaseException):
                self._raised += (came,)
                if isinstance(came, RunBusyError) and isinstance(effect, RunTool):
                    self._add(wrap_event(effect.path, self.never_ran(effect)))
            elif came is not None:
                if self._around is not None:
                    came = self._around.heard(effect, came, before)
                self._add(self._wrapped(effect, came) if effect.path else came)
        except HookError as error:
            self._raised += (error,)
        if self.folded is before:
            self._left += (key,)

    def _add(self, event: Event) -> None:
        """Fold in an event, and what the hooks that guard the end of the run answer to that."""
        before = self.folded
        if self._foresight is None:
            run = step(self.spec, before, event)
        else:
            run = self._foreseen(before, event)
        back = sent_back(self._hooks, run) if self._hooks and run is not before else None
        self._unsettled.append((before, event, run))
        if back is not None:
            before, run = run, step(self.spec, run, back)
            self._unsettled.append((before, back, run))
        self.folded = run

    def settle_steps(self) -> Steps[None]:
        """Record what was left to be recorded with the next tools."""
        return self._settle() if self._unsettled else NO_STEPS

    def _settle(self) -> Steps[None]:
        """Record what has been folded in, and tell the observers; or it has not happened."""
        folded, self._unsettled = self._unsettled, []
        changes: list[tuple[Event, Run[S]]] = []
        missed: Sequence[Folded[S]] = ()
        for before, event, after in folded:
            if after is not before:
                changes.append((event, after))
        try:
            if changes and self._recording is not None:
                yield from self._recording(changes)
            elif changes and self._record is not None:
                self._record(changes)
        except BaseException as error:
            self._undo(folded[0][0])
            if isinstance(error, JournalConflictError) and self._missed is not None:
                missed = yield from self._missed(self.folded, [event for _, event, _ in folded])
            if not missed:
                raise
        if missed:
            yield from self._rebased(folded, missed)
        elif self._observers:  # most runs have none
            yield from self._tell(folded)

    def close(self) -> Run[S]:
        """End a loop: the run as it is. The first exception that landed is raised."""
        run = self.run
        if self._interrupted:
            self._take_interruptions()
        if self._raised:
            raise self._raised[0]
        return run

    def leave(self) -> None:
        """Hold the run no longer: nothing more is asked of this session."""
        self.open()
        self._unsettled = []
        vars(self).pop("folded", None)  # gone already, if it was left before
