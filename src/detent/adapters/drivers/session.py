"""A session: the one mutable handle on a run, for our drivers and for loops of your own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Generic, TypeAlias

from detent.adapters.drivers.mail import Halt, Landed
from detent.adapters.system.clocks import SystemClock
from detent.core.control.breakpoints import NO_HOLD, Hold, place_of
from detent.core.control.hooks import Hook, HookError, incoming, outgoing, sent_back
from detent.core.control.rebase import Folded, rebased
from detent.core.errors import DetentError
from detent.core.machine.delegation import nested_run, wrap_event
from detent.core.machine.due import due
from detent.core.machine.step import step
from detent.core.run.effects import AskHuman, AskModel, Effect, EffectKey, Judge, RunTool, WaitUntil
from detent.core.run.events import Event, ToolStarted
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec, Delegate
from detent.core.state.typevars import S
from detent.ports.clock import Clock
from detent.ports.journal import JournalConflictError
from detent.ports.observer import Observer

Record: TypeAlias = Callable[[Sequence[tuple[Event, Run[Any]]]], object]
"""Keeps events that have happened; it is given each with the run after it."""
Missed: TypeAlias = Callable[[Run[S]], Sequence[Folded[S]]]
"""What people have said elsewhere to a run that could not be recorded; nothing if it was others."""

REPEATABLE = (AskModel, Judge)
"""What may be done again without harm if a process ends before it is recorded what came of it."""
WAITS = (AskHuman, WaitUntil)
"""What does no work: whoever goes on with the run waits for the same human, or the same time."""


class SessionLeftError(DetentError, RuntimeError):
    """A session is asked for its run after it was left."""


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
        self._run = run
        self._folded: list[Folded[S]] = []
        self._clock = SystemClock() if clock is None else clock
        self._observers = tuple(observers)
        self._hold = hold
        self._passed = tuple(passed)
        self._record = record
        self._missed = missed
        self._hooks = tuple(hooks)
        self._inner_hooks = dict(inner_hooks or {})
        self._has_hooks = bool(self._hooks or self._inner_hooks)
        self.open()

    @cached_property
    def _run(self) -> Run[S]:
        """The run with all that was folded in. Without a value, `leave` has taken it away."""
        raise SessionLeftError(
            "this session holds its run no longer: whoever drove it has given its result, or "
            "raised; go on with that result's run, or with Agent.resume, in another session"
        )

    @property
    def run(self) -> Run[S]:
        """The run, as it is recorded."""
        self._settle()
        return self._run

    def open(self) -> None:
        """Begin a loop: nothing is under way, and what an earlier one left is offered again."""
        self.under_way: dict[EffectKey, Effect] = {}
        self.held: tuple[Effect, ...] = ()
        # Tuples: an empty one is no object of its own, for which the collector takes time as well.
        self._left: tuple[EffectKey, ...] = ()
        self._raised: tuple[BaseException, ...] = ()
        self._answers: tuple[Event, ...] = ()
        self._void: tuple[Effect, ...] = ()
        self._is_behind = False  # people have spoken since it was found out what is owed
        self._is_undone = False  # the last that was folded in could not be recorded
        self._is_halted = False  # nothing new is begun in this loop

    def take(self) -> list[Effect]:
        """The effects that are owed and not under way yet; from now on they are.

        Tools are recorded as started first, with the time if they may only take so long; of a tool
        that is an agent, what that owes then takes its place. Effects
        that are no longer owed are no longer under way. Once something was raised, nothing new is
        begun. What it raises itself, it raises before anything is under way.
        """
        known = tuple(self.under_way)
        try:
            fresh = self._begun()
            while self._answers:
                answers, self._answers = self._answers, ()
                self.feed(*answers)
                fresh |= self._begun()
                fresh = {key: one for key, one in fresh.items() if key in self.under_way}
        except BaseException:  # nobody is given what has been begun
            self.under_way = {key: self.under_way[key] for key in known if key in self.under_way}
            raise
        for effect in self.under_way.values():
            if not isinstance(effect, WaitUntil) or effect.reason != "limit":
                return list(fresh.values())
        self._keep(())  # nobody waits for the end of the run's time alone
        return []

    def _keep(self, owed: Collection[EffectKey]) -> None:
        kept = {key: one for key, one in self.under_way.items() if key in owed}
        if len(kept) < len(self.under_way):
            self._void += tuple(one for key, one in self.under_way.items() if key not in kept)
        self.under_way = kept

    def _begun(self) -> dict[EffectKey, Effect]:
        if self._has_hooks or self._hold is not NO_HOLD:
            self._settle()  # they are asked about what is owed to the run as it is recorded
        fresh = self._fresh()
        if self._has_hooks:
            sent = {key: self._sent(key, effect) for key, effect in fresh.items()}
            fresh = {key: effect for key, effect in sent.items() if effect is not None}
        is_more_owed = False
        for effect in fresh.values():
            if isinstance(effect, RunTool):
                is_more_owed |= self._start(effect)
        self._settle()
        if not (is_more_owed or self._is_behind):
            self.under_way |= fresh
            return fresh
        if self._is_behind:  # a tool whose start came too late must not run
            owed = {effect.key for effect in due(self.spec, self._run)}
            fresh = {key: effect for key, effect in fresh.items() if key in owed}
        fresh = {  # in the place of a call of an agent stands what that owes
            key: effect
            for key, effect in fresh.items()
            if not (isinstance(effect, RunTool) and isinstance(effect.tool, Delegate))
        }
        self.under_way |= fresh
        fresh |= self._begun()  # in the course of which people may speak as well
        return {key: effect for key, effect in fresh.items() if key in self.under_way}

    def _sent(self, key: EffectKey, effect: Effect) -> Effect | None:
        """The effect as the hooks want it; None where one of them has answered it, or failed."""
        try:
            hooks, run = self._hooks_of(effect)
            sent = outgoing(hooks, effect, run)
        except HookError as error:
            self._raised += (error,)
            self._left += (key,)
            return None
        if isinstance(sent, Effect):
            return sent
        self._answers += (wrap_event(effect.path, sent),)
        return None

    def _hooks_of(self, effect: Effect) -> tuple[Sequence[Hook], Run[Any]]:
        """The hooks of the agent that the effect is for, and that agent's run."""
        if not effect.path:
            return self._hooks, self.run
        hooks = self._inner_hooks.get(tuple(at.tool_name for at in effect.path))
        try:
            return (hooks, nested_run(self.run, effect.path)) if hooks else ((), self.run)
        except LookupError:  # the agent has ended, or the whole run: what comes is not heard
            return (), self.run

    def _start(self, effect: RunTool) -> bool:
        """Say that it begins; whether more is owed then: a wait, or what its agent owes."""
        is_timed = effect.tool.timeout_s is not None or isinstance(effect.tool, Delegate)
        at = self._clock.now() if is_timed else None
        started = ToolStarted(effect.ref, effect.attempt, at)
        self._fold(wrap_event(effect.path, started) if effect.path else started)
        return is_timed

    def _fresh(self) -> dict[EffectKey, Effect]:
        self._is_behind = False
        owed = {}
        for effect in due(self.spec, self._run):
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
        owed = {effect.key for effect in due(self.spec, self.run)}
        begun = self.under_way.values()
        return [one for one in begun if isinstance(one, RunTool) and one.key in owed]

    def put_back(self, effect: Effect) -> None:
        """Give back an effect that was taken and not begun."""
        del self.under_way[effect.key]

    def land(self, effect: Effect, came: Event | BaseException | None) -> None:
        """Fold in what came of `effect`, unless it is no longer under way.

        Where that settles nothing (None, a decision that does not fit, an exception), the effect
        stays owed and is not offered again. An exception is kept for `close`.
        """
        self._land(effect, came)
        if self.under_way or not isinstance(effect, REPEATABLE):
            self._settle()

    def hear(self, items: Iterable[Event | Landed | Halt]) -> None:
        """Fold in events from outside and what came of effects; together they are recorded."""
        may_wait = False
        try:
            heard = [self._hear(item) for item in items]
            may_wait = all(heard)
        finally:
            if self.under_way or not may_wait:
                self._settle_each()

    def feed(self, *events: Event) -> None:
        """Fold in events from anywhere: all of them, or, when they cannot be recorded, none."""
        run, before = self._run, len(self._folded)
        try:
            for event in events:
                self._fold(event)
        except BaseException:
            self._run = run
            del self._folded[before:]
            raise
        self._settle()

    def _hear(self, item: Event | Landed | Halt) -> bool:
        """Fold it in; whether it may be recorded later."""
        if isinstance(item, Halt):
            self._is_halted = True
            return True
        if isinstance(item, tuple):
            self._land(*item)
            return isinstance(item[0], REPEATABLE)
        self._fold(item)
        return False

    def _land(self, effect: Effect, came: Event | BaseException | None) -> None:
        key, before = effect.key, self._run
        if self.under_way.get(key) is not effect:
            return
        del self.under_way[key]
        try:
            if isinstance(came, BaseException):
                self._raised += (came,)
            elif came is not None:
                if self._has_hooks:
                    hooks, run = self._hooks_of(effect)
                    before = self._run  # people may have been heard just now
                    came = incoming(hooks, effect, came, run)
                self._fold(wrap_event(effect.path, came) if effect.path else came)
        except HookError as error:
            self._raised += (error,)
        if self._run is before:
            self._left += (key,)

    def _fold(self, event: Event) -> None:
        before = self._run
        run = step(self.spec, before, event)
        back = sent_back(self._hooks, run) if self._hooks and run is not before else None
        self._folded.append((before, event, run))
        if back is not None:
            before, run = run, step(self.spec, run, back)
            self._folded.append((before, back, run))
        self._run = run

    def _settle(self) -> None:
        """Record what has been folded in, and tell the observers; or it has not happened."""
        if not self._folded:
            return
        folded, self._folded = self._folded, []
        if self._record is not None:
            changes = [(event, after) for before, event, after in folded if after is not before]
            missed: Sequence[Folded[S]] = ()
            try:
                if changes:
                    self._record(changes)
            except JournalConflictError:
                self._undo(folded[0][0])
                missed = () if self._missed is None else self._missed(self._run)
                if not missed:
                    raise
            except BaseException:
                self._undo(folded[0][0])
                raise
            if missed:
                self._rebase(folded, missed)
                return
        self._tell(folded)

    def _tell(self, folded: Sequence[Folded[S]]) -> None:
        if self._observers:  # most runs have none
            for one in folded:
                for observe in self._observers:
                    observe(*one)

    def _undo(self, run: Run[S]) -> None:
        """Nothing has happened since `run`."""
        self._run, self._is_undone = run, True

    def _rebase(self, folded: Sequence[Folded[S]], missed: Sequence[Folded[S]]) -> None:
        """Fold in once more what could not be recorded, behind what people have said, and settle.

        RULE: whatever an observer raises about the one, the other is recorded.
        """
        self._run, self._is_behind = missed[-1][2], True
        try:
            self._tell(missed)
        finally:
            events = [event for _, event, _ in folded]
            self._folded = rebased(self.spec, self._run, events, self._hooks)
            self._run, self._is_undone = self._folded[-1][2], False
            self._settle()

    def _settle_each(self) -> None:
        """As `_settle`. What cannot be recorded takes nothing with it that has come beside it."""
        folded, self._is_undone = self._folded, False
        try:
            self._settle()
        except Exception:
            were_undone = len(folded) > 1 and self._is_undone
            for _, event, _ in folded if were_undone else ():
                with suppress(Exception):  # the first one is on its way
                    self.feed(event)
            raise

    def close(self) -> Run[S]:
        """End a loop: the run as it is. The first exception that landed is raised."""
        run = self.run
        if self._raised:
            raise self._raised[0]
        return run

    def leave(self) -> None:
        """Hold the run no longer: nothing more is asked of this session."""
        self.open()
        self._folded = []
        vars(self).pop("_run", None)  # gone already, if it was left before

    def _must_wait(self, effect: Effect) -> bool:
        return place_of(effect) not in self._passed and self._hold(self.run, effect)
