"""A session: the one mutable handle on a run, for our drivers and for loops of your own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeAlias

from attrs import frozen

from detent.adapters.control.breakpoints import NO_HOLD
from detent.adapters.drivers.fold import Fold, Missed, Record
from detent.adapters.drivers.steps import NO_STEPS, Steps, at_once
from detent.adapters.system.clocks import SystemClock
from detent.core.control.holds import Hold, place_of
from detent.core.control.hooks import Hook, HookError, incoming, outgoing
from detent.core.machine.beginning import lapse_of, may_begin
from detent.core.machine.delegation import nested_run, wrap_event
from detent.core.machine.due import due
from detent.core.run.effects import AskHuman, AskModel, Effect, EffectKey, Judge, RunTool, WaitUntil
from detent.core.run.events import CallRewritten, Event, ToolNeverRan, ToolStarted
from detent.core.run.run import Run
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


class Session(Generic[S]):
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
        self._fold = Fold(spec, run, observers=observers, record=record, missed=missed, hooks=hooks)
        self.waits = bool(getattr(record, "waits", False))
        self._clock = SystemClock() if clock is None else clock
        self._hold = hold
        self._passed = tuple(passed)
        self._hooks = tuple(hooks)
        self._inner_hooks = dict(inner_hooks or {})
        self._has_hooks = bool(self._hooks or self._inner_hooks)
        self.open()

    @property
    def run(self) -> Run[S]:
        """The run, as it is recorded."""
        at_once(self._fold.settle_steps())
        return self._fold.run

    def open(self) -> None:
        """Begin a loop: nothing is under way, and what an earlier one left is offered again."""
        self.under_way: dict[EffectKey, Effect] = {}
        self.held: tuple[Effect, ...] = ()
        # Tuples: an empty one is no object of its own, for which the collector takes time as well.
        self._left: tuple[EffectKey, ...] = ()
        self._raised: tuple[BaseException, ...] = ()
        self._answers: tuple[Event, ...] = ()
        self._void: tuple[Effect, ...] = ()
        self._fold.is_behind = False
        self._rewritten: tuple[EffectKey, ...] = ()  # the calls that hooks have changed
        self._is_halted = False  # nothing new is begun in this loop

    def take(self) -> list[Effect]:
        """As `take_steps`, blocking."""
        return at_once(self.take_steps())

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
        self.under_way = kept

    def _begun(self) -> Steps[dict[EffectKey, Effect]]:
        if self._has_hooks or self._hold is not NO_HOLD:
            # they are asked about what is owed to the run as it is recorded
            yield from self._fold.settle_steps()
        fresh = self._fresh()
        if self._has_hooks:
            sent = {key: self._sent(key, effect) for key, effect in fresh.items()}
            fresh = {key: effect for key, effect in sent.items() if effect is not None}
        is_more_owed = False
        for effect in fresh.values():
            if isinstance(effect, RunTool):
                is_more_owed |= self._start(effect)
        yield from self._fold.settle_steps()
        if not (is_more_owed or self._fold.is_behind):
            self.under_way |= fresh
            return fresh
        if self._fold.is_behind:  # a tool whose start came too late must not run
            owed = {effect.key for effect in due(self.spec, self._fold.run)}
            fresh = {key: effect for key, effect in fresh.items() if key in owed}
        fresh = {  # in the place of a call of an agent stands what that owes
            key: effect
            for key, effect in fresh.items()
            if not (isinstance(effect, RunTool) and isinstance(effect.tool, Delegate))
        }
        self.under_way |= fresh
        fresh |= yield from self._begun()  # in the course of which people may speak as well
        return {key: effect for key, effect in fresh.items() if key in self.under_way}

    def _sent(self, key: EffectKey, effect: Effect) -> Effect | None:
        """The effect as the hooks want it; None where one of them has answered it, or failed."""
        if place_of(effect) in self._rewritten:
            return effect  # judged anew as they have made it
        try:
            hooks, run = self._hooks_of(effect)
            sent = outgoing(hooks, effect, run)
        except HookError as error:
            self._raised += (error,)
            self._left += (key,)
            return None
        if isinstance(sent, Effect):
            return sent
        self._rewritten += (place_of(effect),) if isinstance(sent, CallRewritten) else ()
        self._answers += (wrap_event(effect.path, sent),)
        return None

    def _hooks_of(self, effect: Effect) -> tuple[Sequence[Hook], Run[Any]]:
        """The hooks of the agent that the effect is for, and that agent's run."""
        if not effect.path:
            return self._hooks, self._fold.run
        hooks = self._inner_hooks.get(tuple(at.tool_name for at in effect.path))
        try:
            run = self._fold.run
            return (hooks, nested_run(run, effect.path)) if hooks else ((), run)
        except LookupError:  # the agent has ended, or the whole run: what comes is not heard
            return (), self._fold.run

    def _start(self, effect: RunTool) -> bool:
        """Say that it begins; whether more is owed then: a wait, or what its agent owes."""
        is_timed = effect.tool.timeout_s is not None or isinstance(effect.tool, Delegate)
        at, run = self._clock.now() if is_timed else None, self._fold.run
        if run.decisions and lapse_of(run, effect) is not None:
            at = self._clock.now()  # and where it may not begin then, it is judged anew
            self._fold.is_behind |= not may_begin(self.spec, run, effect, at)
        started = ToolStarted(effect.ref, effect.attempt, at)
        self._fold.add(wrap_event(effect.path, started) if effect.path else started)
        return is_timed

    def _fresh(self) -> dict[EffectKey, Effect]:
        self._fold.is_behind = False
        self._raised += self._fold.interruptions()
        owed = {}
        for effect in due(self.spec, self._fold.run):
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
            self.held = tuple(effect for effect in new.values() if self._must_wait(effect))
            new = {key: effect for key, effect in new.items() if effect not in self.held}
        return {} if self._raised else new

    def void(self) -> list[Effect]:
        """The effects that were under way and are no longer owed, each once: drop the work."""
        void, self._void = self._void, ()
        return list(void)

    def running(self) -> list[RunTool]:
        """The tools that are under way. When a loop fails, hear these out.

        Whoever goes on with the run, as its journal could not be written, would run them again.
        """
        owed = {effect.key for effect in due(self.spec, self._fold.run)}
        begun = self.under_way.values()
        return [one for one in begun if isinstance(one, RunTool) and one.key in owed]

    def never_ran(self, effect: RunTool) -> ToolNeverRan:
        """That an attempt has not begun whose start is recorded: nobody else can know that."""
        may_lapse = lapse_of(self._fold.run, effect) is not None
        return ToolNeverRan(effect.ref, effect.attempt, self._clock.now() if may_lapse else None)

    def put_back(self, effect: Effect) -> None:
        """Give back an effect that was taken and not begun."""
        del self.under_way[effect.key]

    def land(self, effect: Effect, came: Event | BaseException | None) -> None:
        """As `land_steps`, blocking."""
        at_once(self.land_steps(effect, came))

    def land_steps(self, effect: Effect, came: Event | BaseException | None) -> Steps[None]:
        """Fold in what came of `effect`, unless it is no longer under way.

        Where that settles nothing (None, a decision that does not fit, an exception), the effect
        stays owed and is not offered again. An exception is kept for `close`.
        """
        if self._has_hooks:
            return self._land_as_recorded(effect, came)
        self._land(effect, came)
        if not self._must_settle(effect):
            return NO_STEPS
        steps = self._fold.settle_steps()
        return self._settled(steps) if self._raised else steps

    def _land_as_recorded(self, effect: Effect, came: Event | BaseException | None) -> Steps[None]:
        """As `land_steps`; the hooks are told of the run as it is recorded."""
        yield from self._fold.settle_steps()
        self._land(effect, came)
        if self._must_settle(effect):
            yield from self._settled(self._fold.settle_steps())

    def _must_settle(self, effect: Effect) -> bool:
        return bool(self.under_way) or not isinstance(effect, REPEATABLE)

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
                    may_wait = may_wait and isinstance(item[0], REPEATABLE)
                    if self._has_hooks:  # as above
                        yield from self._fold.settle_steps()
                    self._land(*item)
                else:
                    may_wait = False
                    self._fold.add(item)
        except BaseException:
            yield from self._fold.settle_each_steps()
            raise
        if self.under_way or not may_wait:
            yield from self._settled(self._fold.settle_each_steps())
        if is_told:
            yield from self._fold.news_steps()

    def _settled(self, steps: Steps[None]) -> Steps[None]:
        """Who has lost the run hears whose it is, and not that a position is taken."""
        try:
            yield from steps
        except JournalConflictError:
            lost = [one for one in self._raised if isinstance(one, RunBusyError)]
            if not lost:
                raise
            raise lost[0] from None

    def feed(self, *events: Event) -> None:
        """As `feed_steps`, blocking."""
        at_once(self.feed_steps(*events))

    def feed_steps(self, *events: Event) -> Steps[None]:
        """Fold in events from anywhere: all of them, or, when they cannot be recorded, none."""
        self._fold.add_all(events)
        yield from self._fold.settle_steps()

    def _land(self, effect: Effect, came: Event | BaseException | None) -> None:
        key = effect.key
        if self.under_way.get(key) is not effect:
            return
        del self.under_way[key]
        before = self._fold.run
        try:
            if isinstance(came, BaseException):
                self._raised += (came,)
                if isinstance(came, RunBusyError) and isinstance(effect, RunTool):
                    never = self.never_ran(effect)
                    self._fold.add(wrap_event(effect.path, never) if effect.path else never)
            elif came is not None:
                if self._has_hooks:
                    hooks, run = self._hooks_of(effect)
                    came = incoming(hooks, effect, came, run)
                self._fold.add(wrap_event(effect.path, came) if effect.path else came)
        except HookError as error:
            self._raised += (error,)
        if self._fold.run is before:
            self._left += (key,)

    def settle_steps(self) -> Steps[None]:
        """Record what was left to be recorded with the next tools."""
        return self._fold.settle_steps()

    def close(self) -> Run[S]:
        """End a loop: the run as it is. The first exception that landed is raised."""
        run = self.run
        self._raised += self._fold.interruptions()
        if self._raised:
            raise self._raised[0]
        return run

    def leave(self) -> None:
        """Hold the run no longer: nothing more is asked of this session."""
        self.open()
        self._fold.leave()

    def _must_wait(self, effect: Effect) -> bool:
        return place_of(effect) not in self._passed and self._hold(self._fold.run, effect)
