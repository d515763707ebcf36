"""A world in company: several processes live and want the same run, and people speak elsewhere.

Who drives the run says so by a real claim, in a store that all of them see. Each process stands
still for a while, or is told late. What is stored is the run: the trace has what each append has
made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import Event as Flag
from typing import Any

from detent.adapters.drivers.leases import Keeper, Lease
from detent.adapters.drivers.loading import Loaded, event_and_run, loaded
from detent.adapters.drivers.recording import Recorder
from detent.adapters.drivers.session import Session
from detent.adapters.drivers.shared_run import NEWS
from detent.adapters.drivers.steps import at_once
from detent.adapters.system.clocks import JumpingClock
from detent.adapters.testing.simulation.invariants import waits_for_a_human
from detent.adapters.testing.simulation.moves import Kind, Move
from detent.adapters.testing.simulation.nested_runs import agent_at
from detent.adapters.testing.simulation.shared_stores import Died, DiskFullError, Fate, ShakyJournal
from detent.adapters.testing.simulation.trace import (
    Broke,
    Folded,
    Happened,
    Happening,
    Offered,
    Opened,
    Performed,
    Rested,
    Ruled,
    Said,
    Wrote,
)
from detent.adapters.testing.simulation.worlds.meddling import further_message
from detent.adapters.testing.simulation.worlds.stage import (
    Driver,
    Flight,
    OwnClock,
    SharedClaims,
    Stage,
    driver_of,
)
from detent.adapters.testing.simulation.worlds.tool_world import Outside, within_reach
from detent.core.machine.delegation import wrap_event
from detent.core.machine.due import due
from detent.core.machine.step import start, step
from detent.core.run.effects import AskHuman, Effect, Judge, RunTool
from detent.core.run.events import (
    CancelRequested,
    Event,
    GrantRevoked,
    HumanDecided,
    Judged,
    Resumed,
)
from detent.core.run.run import Run
from detent.ports.claims import RunBusyError, given_back
from detent.ports.clock import Clock
from detent.ports.journal import Entry, Journal, JournalConflictError, RunNotFoundError

RUN_ID = "run"
CHECKPOINT_ENTRIES = 4
CLAIM_S = 1000.0
"""How long a claim holds: so long that real time plays no part in it."""
PATIENCE = 1000
"""How many answers may come until a run that nobody disturbs has ended."""
FATES: dict[Kind, tuple[Fate, ...]] = {
    "die_writing": ("before", "torn", "half", "after"),
    "refuse": ("refused",),
    "hiccup": ("away", "unheard"),
}


class CompanyWorld:
    """Plays one run from its start until nothing more happens."""

    def __init__(self, stage: Stage, moves: Sequence[Move]) -> None:
        self.trace: list[Happening] = []
        self.clock = JumpingClock(1_000_000)
        self._stage = stage
        self._moves = moves
        self._outside = Outside(stage.players, stage.executor, is_attended=stage.is_attended)
        self._inbox = Outside(stage.players, stage.executor, is_attended=True)
        self._spec = within_reach(stage.spec, self._outside)
        self._claims = SharedClaims()
        self._fate: Fate | None = None
        self._started = 0
        self._drivers: list[Driver] = []
        self._gone: list[Driver] = []  # those of whose end nobody knows
        self._air: list[Flight] = []
        self._run: Run[Any] | None = None
        self._length = 0
        self._rulings: list[tuple[Event, Ruled]] = []  # which count when they are heard

    def play(self) -> list[Happening]:
        """The trace of the whole run."""
        try:
            for move in self._moves:
                if not self._drivers and not self._is_over():
                    self._join()
                self._make(move)
                self._renew()
            self._fate = None
            self._come_to_rest()
        except Exception as error:  # noqa: BLE001 - what may never happen is what is looked for
            self.trace.append(Broke(error))
        return self.trace

    def _make(self, move: Move) -> None:
        """One thing befalls the run."""
        pick = move.pick
        flying = [work for work in self._air if not driver_of(work).is_frozen]
        match move.kind:
            case "land" | "work" if flying:
                act = self._land if move.kind == "land" else self._perform
                act(flying[pick % len(flying)])
            case "join":
                self._join(take_over=pick % 5 == 0 and not self._drivers)
            case "pass":
                self._let_pass(CLAIM_S * (0.2, 0.5, 0.8, 1.2)[pick % 4])
            case "die_writing" | "refuse" | "hiccup":
                fates = FATES[move.kind]
                self._fate = fates[pick % len(fates)]
            case "speak" | "cancel" | "revoke" | "message":
                self._say(move)
            case "freeze" | "die" | "hear" if self._drivers:
                self._befall(move, self._drivers[pick // 2 % len(self._drivers)])
            case _:
                pass

    def _befall(self, move: Move, driver: Driver) -> None:
        match move.kind:
            case "freeze" if driver.is_frozen:
                driver.is_frozen = False
                self._tell(f"process {driver.number} goes on again")
            case "freeze":
                self._freeze(driver, move.pick)
            case "die":
                self._end(driver, "dies")
                if move.pick % 2:  # on this machine, where that is known
                    claim = driver.lease.claim
                    self._claims.swap(RUN_ID, claim, given_back(claim))
            case _ if not driver.is_frozen:
                self._within(driver, lambda: driver.session.hear([NEWS]))
            case _:
                pass

    def _freeze(self, driver: Driver, pick: int) -> None:
        """A process stands still; mostly for so long that another one takes up the run.

        What it has begun may go on meanwhile, in another place.
        """
        begun = [work for work in self._air if work.process is driver]
        for flight in begun if pick % 3 else ():
            self._perform(flight)
        driver.is_frozen = True
        self._tell(f"process {driver.number} stands still")
        if pick % 4:
            self._let_pass(1.2 * CLAIM_S)
            self._join()

    def _renew(self) -> None:
        for driver in self._drivers:
            if not driver.is_frozen:
                driver.keeper.renew()

    def _let_pass(self, seconds: float) -> None:
        """Time passes, during which those renew their claims that do not stand still."""
        for _ in range(4):
            self.clock.wait(self.clock.now() + seconds / 4, Flag())
            self._renew()
        self._tell(f"{seconds:.0f} seconds pass")

    def _say(self, move: Move) -> None:
        """Somebody speaks, in a process that drives nothing."""
        if self._run is None or self._run.outcome is not None:
            return
        event: Event | None = None
        match move.kind:
            case "speak":
                event = self._decision(move.pick)
            case "cancel":
                event = CancelRequested("somebody wants it")
            case "message":
                event = further_message(move.pick)
            case _ if self._run.grants:
                event = GrantRevoked(self._run.grants[move.pick % len(self._run.grants)].ref)
            case _:
                pass
        if event is None or (after := step(self._spec, self._run, event)) is self._run:
            return
        self._tell("somebody says elsewhere:")
        try:
            journal = self._journal(0)
            at = loaded(journal, self._spec, RUN_ID)
            recorder = Recorder(journal, self._spec, self.clock, at, CHECKPOINT_ENTRIES)
            recorder([(event, after)])
        except (Died, DiskFullError):
            self._tell("it is not heard whether that was written")
            self._wrote(0)

    def _decision(self, pick: int) -> Event | None:
        """What somebody says about a call that waits for a human."""
        run = self._run
        owed = [] if run is None else due(self._spec, run)
        questions = [owed_effect for owed_effect in owed if isinstance(owed_effect, AskHuman)]
        if not questions:
            return None
        effect = questions[pick % len(questions)]
        event = self._inbox.perform(effect, self.clock, None)
        if not isinstance(event, HumanDecided):
            return None
        self.trace.append(Said(effect, event.decision, self.clock.now()))
        return wrap_event(effect.path, event)

    def _come_to_rest(self) -> None:
        """Nobody disturbs the run any more: who stands still goes on, and all is heard, in order.

        Raises:
            RuntimeError: the run gets nowhere.
        """
        for driver in self._drivers:
            driver.is_frozen = False
        for _ in range(PATIENCE):
            self._renew()
            if self._air:
                self._land(self._air[0])
            elif self._drivers:
                self._end(self._drivers[0], "is killed, because it hangs")
            elif self._is_over():
                break
            else:
                self._let_pass(2 * CLAIM_S)
                self._join()
        else:
            raise RuntimeError("the run gets nowhere")
        entries = tuple(self._stage.store.open().read(RUN_ID))
        if self._run is not None:
            self.trace.append(Rested(self._run, due(self._spec, self._run), entries))

    def _is_over(self) -> bool:
        run = self._run
        if run is None or run.outcome is not None:
            return run is not None
        return not self._stage.is_attended and waits_for_a_human(due(self._spec, run))

    def _join(self, *, take_over: bool = False) -> None:
        """A process begins with the run, or goes on with it, if it may."""
        self._started += 1
        number = self._started
        clock = OwnClock(self.clock, number / 1000)
        keeper = Keeper(self._claims, CLAIM_S, clock, renews=False)
        try:
            lease = at_once(keeper.take_steps(RUN_ID, take_over=take_over))
        except RunBusyError:
            self._tell(f"process {number} finds the run driven by another one")
            return
        try:
            self._open(number, keeper, lease, clock)
        except Died as error:
            self._tell(f"process {number} does not get far: {error!r}")
            self._claims.swap(RUN_ID, lease.claim, given_back(lease.claim))
            self._wrote(number)
        except (DiskFullError, JournalConflictError) as error:
            self._tell(f"process {number} does not get far: {type(error).__name__}")
            lease.release()

    def _open(self, number: int, keeper: Keeper, lease: Lease, clock: Clock) -> None:
        journal = self._journal(number)
        at = self._load(journal, number)
        recorder = Recorder(journal, self._spec, clock, at, CHECKPOINT_ENTRIES, lease=lease)
        if at.length == 0:
            at_once(recorder.begin(at.run))
        session = Session(self._spec, at.run, clock=clock, record=recorder, missed=recorder.missed)
        driver = Driver(number, session, keeper, lease, clock)
        self._drivers.append(driver)
        self._within(driver, lambda: session.feed(Resumed(f"process-{number}", clock.now())))

    def _load(self, journal: Journal, number: int) -> Loaded[Any]:
        try:
            at = loaded(journal, self._spec, RUN_ID)
        except RunNotFoundError:
            run = start(self._spec, self._stage.messages, run_id=RUN_ID, at=self.clock.now())
            self.trace.append(Opened(number, (), run, run))
            return Loaded(run, 0)
        again = loaded(journal, self._spec, RUN_ID, from_start=True).run
        entries = tuple(journal.read(RUN_ID))
        self.trace.append(Opened(number, entries, at.run, again))
        return at

    def _journal(self, number: int) -> Journal:
        store = self._stage.store
        return ShakyJournal(store, store.open(), self._next_fate, partial(self._wrote, number))

    def _next_fate(self) -> Fate | None:
        fate, self._fate = self._fate, None
        return fate

    def _wrote(self, number: int, _: Sequence[Entry] = ()) -> None:
        """What the store has is what has happened: also what somebody wrote who died of it."""
        for entry in [*self._stage.store.open().read(RUN_ID, self._length)]:
            self._length += 1
            self.trace.append(Wrote((entry,)))
            if (before := self._run) is None:
                self._run = loaded(self._stage.store.open(), self._spec, RUN_ID, 1).run
                continue
            event, after = event_and_run(self._spec, before, entry, entry.data)
            self.trace += [ruling for ruled_event, ruling in self._rulings if ruled_event == event][
                -1:
            ]
            self.trace.append(Folded(number, before, event, after))
            self._run = after

    def _within(self, driver: Driver, act: Callable[[], object]) -> bool:
        """A process does something, and begins what is owed then; either may be its end.

        Whether it could be written, or was for another one to say.
        """
        try:
            act()
            self._begin(driver)
        except Died:
            self._end(driver, "dies")
            self._wrote(driver.number)
            return False
        except (DiskFullError, JournalConflictError, RunBusyError) as error:
            self._end(driver, f"stops: {type(error).__name__}")
            driver.lease.release()
            return not isinstance(error, DiskFullError)
        return True

    def _begin(self, driver: Driver) -> None:
        session = driver.session
        self._air += [Flight(driver, effect) for effect in session.take()]
        self._air = [
            work
            for work in self._air
            if work.process is not driver or work.effect.key in session.under_way
        ]
        if session.under_way or driver not in self._drivers:
            return
        try:
            session.close()
            self._end(driver, "has nothing left to do")
        except Exception as error:  # noqa: BLE001 - what a player raised
            self._end(driver, f"stops: {type(error).__name__}")
        driver.lease.release()

    def _end(self, driver: Driver, how: str) -> None:
        if driver in self._drivers:
            self._drivers.remove(driver)
            self._gone.append(driver)
            self._air = [work for work in self._air if work.process is not driver]
            self._tell(f"process {driver.number} {how}")

    def _land(self, flight: Flight) -> None:
        """Something ends, and its process hears of it."""
        self._perform(flight)
        self._air.remove(flight)
        driver, effect, outcome = driver_of(flight), flight.effect, flight.outcome
        is_said = self._within(driver, lambda: driver.session.land(effect, outcome))
        if isinstance(effect, RunTool) and isinstance(outcome, Event) and is_said and self._run:
            self.trace.append(Offered(driver.number, effect, outcome, self._run))

    def _perform(self, flight: Flight) -> None:
        """Do the work of an effect, once, by the process whose claim still holds."""
        if flight.is_performed:
            return
        effect, driver = flight.effect, driver_of(flight)
        price = agent_at(self._spec, effect.path).limits.price
        outcome = flight.outcome = self._outside.perform(effect, driver.clock, price, driver.lease)
        flight.is_performed = True
        if isinstance(outcome, RunBusyError):
            self._tell(f"process {driver.number} does not begin {effect.key}: it has lost the run")
        elif isinstance(outcome, Event):
            self._note(driver, effect, outcome)

    def _note(self, driver: Driver, effect: Effect, event: Event) -> None:
        match effect, event:
            case RunTool(), _:
                self.trace.append(Performed(driver.number, effect, event))
            case AskHuman(), HumanDecided(decision=decision):
                self.trace.append(Said(effect, decision, self.clock.now()))
            case Judge(), Judged(verdict=verdict):
                self._rulings.append((wrap_event(effect.path, event), Ruled(effect, verdict)))
            case _:
                pass

    def _tell(self, what: str) -> None:
        """Note something for people."""
        self.trace.append(Happened(what))
