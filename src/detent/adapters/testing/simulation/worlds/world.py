"""A simulated world: real runs, sessions and stores; time, processes and people are made up.

Everything happens in one thread, on a clock that stands still unless the world sets it. The same
stage, seed and moves give the same trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event as Flag
from typing import Any

from detent.adapters.drivers.history import Runs
from detent.adapters.drivers.loading import Loaded, loaded
from detent.adapters.drivers.recording import Recorder
from detent.adapters.drivers.session import Session
from detent.adapters.drivers.steps import at_once
from detent.adapters.system.chance import SeededChance
from detent.adapters.system.clocks import JumpingClock
from detent.adapters.testing.simulation.drawing import dice
from detent.adapters.testing.simulation.invariants import waits_for_a_human
from detent.adapters.testing.simulation.moves import Kind, Move
from detent.adapters.testing.simulation.nested_runs import agent_at, innermost, slots_in
from detent.adapters.testing.simulation.shared_stores import (
    Died,
    DiskFullError,
    Fate,
    ShakyJournal,
)
from detent.adapters.testing.simulation.trace import (
    Broke,
    Folded,
    Forked,
    FoundDamaged,
    Happened,
    Happening,
    Opened,
    Performed,
    Rested,
    Ruled,
    Said,
    Wrote,
)
from detent.adapters.testing.simulation.worlds import meddling
from detent.adapters.testing.simulation.worlds.stage import Flight, Process, Stage
from detent.adapters.testing.simulation.worlds.tool_world import Outside, within_reach
from detent.core.errors import StoredDataError
from detent.core.machine.delegation import wrap_event
from detent.core.machine.due import due
from detent.core.machine.step import start
from detent.core.run.effects import AskHuman, Effect, Judge, Reconcile, RunTool, WaitUntil
from detent.core.run.events import (
    CancelRequested,
    Event,
    GrantRevoked,
    HumanDecided,
    Judged,
    Resumed,
)
from detent.core.run.run import AwaitingDecision, Run
from detent.ports.journal import (
    Entry,
    Journal,
    JournalConflictError,
    JournalError,
    RunNotFoundError,
)

RUN_ID = "run"
CHECKPOINT_ENTRIES = 4
"""Few, so that short runs have checkpoints as well."""
FLYING: frozenset[Kind] = frozenset({"land", "work", "copy", "lose"})
"""The moves that are about something under way."""
DEATHS: tuple[Fate, ...] = ("before", "torn", "half", "after")
PROMISED = (JournalError, StoredDataError, RunNotFoundError)
"""What comes of a store that is damaged, if it is not the run as it was."""
PATIENCE = 1000
"""How many answers may come until a run that nobody disturbs has ended."""


class World:
    """Plays one run from its start until nothing more happens."""

    def __init__(self, stage: Stage, moves: Sequence[Move]) -> None:
        self.trace: list[Happening] = []
        self.clock = JumpingClock(1_000_000)
        self.fate: Fate | None = None
        self._stage = stage
        self._moves = moves
        self._outside = Outside(stage.players, stage.executor, is_attended=stage.is_attended)
        self._spec = within_reach(stage.spec, self._outside)
        self._started = 0
        self._processes: list[Process] = []
        self._air: list[Flight] = []
        self._past: list[Event] = []
        self._questions: list[str] = []
        self._run: Run[Any] | None = None
        self._is_damaged = False
        self._is_stored = False
        self._run_id = RUN_ID
        self._begun: Run[Any] | None = None

    def play(self) -> list[Happening]:
        """The trace of the whole run."""
        try:
            for move in self._moves:
                self.clock.wait(self.clock.now() + 0.01, Flag())
                self._make(move)
            self.fate = None
            self._come_to_rest()
        except Exception as error:  # noqa: BLE001 - what may never happen is what is looked for
            is_promised = self._is_damaged and isinstance(error, PROMISED)
            self.trace.append(FoundDamaged(error) if is_promised else Broke(error))
        return self.trace

    def _make(self, move: Move) -> None:
        process = self._current()
        if process is None:
            return
        if move.kind in FLYING:
            if self._air:
                self._touch(move.kind, self._air[move.pick % len(self._air)])
        else:
            self._befall(move, process)

    def _touch(self, kind: Kind, flight: Flight) -> None:
        """Something becomes of what is under way."""
        match kind:
            case "land":
                self._land(flight)
            case "work" if isinstance(flight.effect, RunTool):
                self._perform(flight)
            case "copy":
                self._copy(flight)
            case "lose":
                self._perform(flight)
                self._air.remove(flight)
                self.tell(f"the answer to {flight.effect.key} is lost")
            case _:
                pass

    def _befall(self, move: Move, process: Process) -> None:
        """Something comes from outside."""
        match move.kind:
            case "echo":
                self._echo(process, move.pick)
            case "forge":
                self._forge(process, move.pick)
            case "die":
                self._end(process, "dies")
                behind = (0, 0, -100, 50)[move.pick % 4]  # clocks of two machines differ
                self.clock = JumpingClock(self.clock.now() - behind)
            case "die_writing":
                self.fate = DEATHS[move.pick % len(DEATHS)]
            case "refuse":
                self.fate = "refused"
            case "rival":
                self._open()
            case "cancel":
                self._feed(process, CancelRequested("somebody wants it"), "from outside")
            case _:
                self._happen_seldom(move, process)

    def _happen_seldom(self, move: Move, process: Process) -> None:
        match move.kind:
            case "damage":
                self._damage(process, move.pick)
            case "revoke" if grants := process.session.run.grants:
                revoked = GrantRevoked(grants[move.pick % len(grants)].ref)
                self._feed(process, revoked, "from outside")
            case "message":
                self._feed(process, meddling.further_message(move.pick), "from outside")
            case "fork":
                self._fork(move.pick)
            case _:
                pass

    def _damage(self, process: Process, pick: int) -> None:
        """Something happens to what is stored; mostly at the same time as to the process."""
        if self._stage.store.damage is None:
            return
        if pick % 4:
            self._end(process, "dies")
        self.tell(self._stage.store.damage(dice(pick, "damage")))
        self._is_damaged = True

    def _fork(self, pick: int) -> None:
        """The run is left, and goes on from a point of its past as another one."""
        new_id = f"{self._run_id}+"
        journal = self._stage.store.open()
        runs = Runs(journal, self._spec, SeededChance(pick), self.clock)
        run = meddling.forked(runs, self._run_id, new_id, pick)
        if run is None:
            return
        for process in list(self._processes):
            self._end(process, "is left behind")
        self._run_id, self._begun, self._run, self._is_stored = new_id, run, run, False
        # The world of the original is not that of the fork, but people may well mistake them.
        self._past = [event for event in self._past if isinstance(innermost(event), HumanDecided)]
        self.trace.append(Forked(run))

    def _come_to_rest(self) -> None:
        """Nobody disturbs the run any more: whatever is under way lands, in order."""
        for _ in range(PATIENCE):
            process = self._current()
            if process is None or self._waits_in_vain():
                break
            if self._air:
                self._land(self._air[0])
            else:
                self._end(process, "is killed, because it hangs")
        entries = tuple(self._journal().read(self._run_id)) if self._is_stored else ()
        if self._run is not None:
            self.trace.append(Rested(self._run, due(self._spec, self._run), entries))

    def _waits_in_vain(self) -> bool:
        if self._stage.is_attended or self._run is None or self._air:
            return False
        return waits_for_a_human(due(self._spec, self._run))

    def _current(self) -> Process | None:
        """The process that drives the run; a new one when there is none, and the run goes on."""
        while not self._processes:
            if self._run is not None and (self._run.outcome is not None or self._waits_in_vain()):
                return None
            self._open()
        return self._processes[-1]

    def _open(self) -> None:
        """A process begins with the run, or goes on with it; others begin no work any more."""
        self._started += 1
        number = self._started
        if number > PATIENCE:
            raise RuntimeError("processes come and go, and the run gets nowhere")
        self._air = [work for work in self._air if work.is_performed or not _is_work(work.effect)]
        try:
            journal = self._journal()
            at = self._load(journal, number)
            recorder = Recorder(journal, self._spec, self.clock, at, CHECKPOINT_ENTRIES)
            if at.length == 0:
                at_once(recorder.begin(at.run))
                self._run = at.run
            session = Session(
                self._spec,
                at.run,
                observers=[lambda *seen: self._saw(number, *seen)],
                clock=self.clock,
                record=recorder,
            )
            process = Process(number, session)
            resumed = Resumed(f"process-{number}", self.clock.now())
            self._processes.append(process)
            self._within(process, lambda: session.feed(resumed))
        except (Died, DiskFullError, JournalConflictError) as error:
            self.tell(f"process {number} does not get far: {error}")

    def _load(self, journal: Journal, number: int) -> Loaded[Any]:
        try:
            at = loaded(journal, self._spec, self._run_id)
        except RunNotFoundError:
            if self._is_damaged and self._is_stored:
                raise
            run = self._begun or self._start()
            self.trace.append(Opened(number, (), run, run))
            return Loaded(run, 0)
        again = loaded(journal, self._spec, self._run_id, from_start=True).run
        entries = tuple(journal.read(self._run_id))
        self.trace.append(Opened(number, entries, at.run, again))
        self._run = at.run
        self._is_stored = True
        return at

    def _start(self) -> Run[Any]:
        return start(self._spec, self._stage.messages, run_id=RUN_ID, at=self.clock.now())

    def _journal(self) -> Journal:
        store = self._stage.store
        return ShakyJournal(store, store.open(), self._next_fate, self._wrote)

    def _next_fate(self) -> Fate | None:
        fate, self.fate = self.fate, None
        return fate

    def _wrote(self, entries: Sequence[Entry]) -> None:
        self._is_stored = True
        self.trace.append(Wrote(tuple(entries)))

    def _within(self, process: Process, act: Callable[[], object]) -> None:
        """A process does something, and begins what is owed then; either may be its end."""
        try:
            act()
            self._begin(process)
        except Died:
            self._end(process, "dies")
        except (DiskFullError, JournalConflictError) as error:
            self._end(process, f"stops: {type(error).__name__}")

    def _begin(self, process: Process) -> None:
        session = process.session
        self._air += [Flight(process, effect) for effect in session.take()]
        self._air = [
            work
            for work in self._air
            if work.process is not process or work.effect.key in session.under_way
        ]
        if session.under_way:
            return
        try:
            session.close()
        except Exception as error:  # noqa: BLE001 - what a player raised
            self._end(process, f"stops: {type(error).__name__}")
        else:
            self._end(process, "has nothing left to do")
            if not self._stage.is_attended:  # time passes, until a question is too old
                owed = due(self._spec, session.run)
                waits = [effect for effect in owed if isinstance(effect, WaitUntil)]
                ends = [wait.at for wait in waits if wait.reason == "expiry"]
                self.clock.wait(min(ends, default=0), Flag())

    def _end(self, process: Process, how: str) -> None:
        if process in self._processes:
            self._processes.remove(process)
            self._air = [work for work in self._air if work.process is not process]
            self.tell(f"process {process.number} {how}")

    def _saw(self, number: int, before: Run[Any], event: Event, after: Run[Any]) -> None:
        self.trace.append(Folded(number, before, event, after))
        if after is not before:
            self._run = after
        for _, slot in slots_in(after):
            match slot.status:
                case AwaitingDecision(digest) if digest not in self._questions:
                    self._questions.append(digest)
                case _:
                    pass

    def _land(self, flight: Flight) -> None:
        self._perform(flight)
        self._air.remove(flight)
        process = flight.process
        self._within(process, lambda: process.session.land(flight.effect, flight.outcome))

    def _copy(self, flight: Flight) -> None:
        self._perform(flight)
        if not isinstance(flight.outcome, BaseException | None):
            self._feed(flight.process, wrap_event(flight.effect.path, flight.outcome), "early")

    def _feed(self, process: Process, event: Event, how: str) -> None:
        self.tell(f"process {process.number} is told {how}:")
        self._within(process, lambda: process.session.feed(event))

    def _echo(self, process: Process, pick: int) -> None:
        """What was heard long ago is heard again."""
        run = process.session.run
        if run is not self._run or not self._past:  # it may be about what this process never asked
            return
        event = meddling.echoed(run, self._past, pick)
        if self._begun is None or meddling.may_hear(self._spec, run, event):
            self._feed(process, event, "again")

    def _forge(self, process: Process, pick: int) -> None:
        """Somebody says yes whom nobody has asked, or a human does when it is too late."""
        run = process.session.run
        if (event := meddling.forged(run, self._questions, pick)) is not None:
            self._feed(process, event, "by a forger")
        if process in self._processes and (late := meddling.late_yes(self._spec, run, pick)):
            effect = late.effect
            self.trace.append(late)
            event = HumanDecided(effect.ref, effect.digest, late.decision, at=late.at)
            self._feed(process, wrap_event(effect.path, event), "too late")

    def _perform(self, flight: Flight) -> None:
        """Do the work of an effect, once."""
        if flight.is_performed:
            return
        effect = flight.effect
        flight.outcome = self._outside.perform(
            effect, self.clock, agent_at(self._spec, effect.path).limits.price
        )
        flight.is_performed = True
        if isinstance(flight.outcome, BaseException | None):
            return
        self._past.append(wrap_event(effect.path, flight.outcome))
        if isinstance(effect, RunTool):
            self.trace.append(Performed(flight.process.number, effect, flight.outcome))
        match effect, flight.outcome:
            case AskHuman(), HumanDecided(decision=decision):
                self.trace.append(Said(effect, decision, self.clock.now()))
            case Judge(), Judged(verdict=verdict):
                self.trace.append(Ruled(effect, verdict))
            case _:
                pass

    def tell(self, what: str) -> None:
        """Note something for people."""
        self.trace.append(Happened(what))


def _is_work(effect: Effect) -> bool:
    return isinstance(effect, RunTool | Reconcile)
