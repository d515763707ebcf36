"""The inside: a run that is followed in what an engine replays, and never touches the world.

Each effect is a job for the engine, which has some worker perform it and keeps what came of it. Any
process that goes through that history once more makes the same run of it. What happens is written
to the journal as well, for whoever looks: the jobs carry it there.

RULE: everything that differs from one time to another comes from the engine: the time, numbers,
what came of a job, and what was said.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any

from attrs import define, evolve, field

from detent.adapters.drivers.session import Session
from detent.adapters.hosts.effects.backlog import Backlog, Happened
from detent.adapters.hosts.effects.contract import WHOSE, require_rules
from detent.adapters.hosts.effects.history import EngineClock, Future, History, Json
from detent.adapters.hosts.effects.stored import report_from_json
from detent.adapters.hosts.effects.versions import (
    NO_VERSIONS,
    Versions,
    versions_in,
    with_versions,
)
from detent.core.control.rebase import still_heard
from detent.core.errors import DetentError
from detent.core.machine.due import due
from detent.core.run.effects import AskHuman, Effect, RunTool, WaitUntil
from detent.core.run.events import ClockTicked, Event, ToolLost
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec
from detent.core.storage.journal import event_from_json, event_to_json, run_from_json, run_to_json

FIRST_PAUSE_S, LAST_PAUSE_S = 0.1, 30.0
"""After how long a tool that could not be begun is tried again: at first, and at last."""
DOUBLINGS = 10
RECORD = "record"
"""A job that only writes to the journal what has happened."""
MAIL = "mail"


@define(eq=False)
class _Flight:
    """What the engine is at work on: a job, or the wait before it is begun again.

    Without a `future` it is held: until what is to be written before it fits into a job, and where
    it was begun in vain, until the journal has been written to. `at` is when the job was given,
    which tells it from others of the same effect; `early` is that its worker has said that it never
    ran, before it is known here that the worker was given up.
    """

    effect: Effect | None
    future: Future
    until: int
    is_pause: bool = False
    tries: int = 0
    at: float = 0.0
    early: Json | None = None
    is_in_vain: bool = False

    @property
    def is_at_work(self) -> bool:
        """Whether a worker may be at work on it, or is to be."""
        is_under_way = self.future is not None and not self.is_pause
        return is_under_way and not isinstance(self.effect, WaitUntil)


@define(eq=False)
class Inside:
    """Follows one run to its end, or to where another history is to go on with it.

    Raises:
        AgentChangedError: the run was begun by an agent with other rules.
    """

    spec: AgentSpec[Any]
    opening: Json
    engine: History
    _own: AgentSpec[Any] = field(init=False)
    _versions: Versions = field(init=False)
    _session: Session[Any] = field(init=False)
    _backlog: Backlog = field(init=False)
    _sent: int = field(init=False)
    _flights: dict[str, _Flight] = field(init=False, factory=dict)
    _mail: Future | None = field(init=False, default=None)
    _looks: bool = field(init=False, default=False)
    _lost: dict[str, float] = field(init=False)

    def __attrs_post_init__(self) -> None:
        opening = self.opening
        require_rules(self.spec, opening["agent"], opening["run_id"], opening["rules"])
        self._own, self._versions = self.spec, opening["versions"]
        self.spec = with_versions(self._own, self._versions)
        run = run_from_json(self.spec, opening["run"])
        self._backlog = Backlog(run, opening["length"])
        self._sent = opening["length"]
        self._lost = dict(opening.get("lost", {}))
        self._session = self._new_session(run)
        self._session.feed(*self._events(opening["events"]))

    @property
    def run(self) -> Run[Any]:
        """The run as it is."""
        return self._session.run

    @property
    def length(self) -> int:
        """How many entries it has, or will have once all is written."""
        return self._backlog.end

    def _new_session(self, run: Run[Any]) -> Session[Any]:
        return Session(self.spec, run, clock=EngineClock(self.engine), record=self._keep)

    def _events(self, data: Sequence[Json]) -> list[Event]:
        return [event_from_json(self.spec, one) for one in data]

    def _keep(self, changes: Sequence[tuple[Event, Run[Any]]]) -> None:
        for event, after in changes:
            happening = Happened(event, event_to_json(self.spec, event), after)
            self._backlog.happened.append(happening)

    async def follow(self) -> Json | None:
        """Follow the run. None says that it has ended; else that is what another history is given.

        All that has happened is in the journal then.
        """
        while True:
            if not self._is_at_work and self.engine.is_long() and self.run.outcome is None:
                if not self._backlog.happened and RECORD not in self._flights:
                    self._leave_all()
                    return self._handed_on()
                self._record()
            else:
                self._begin()
            if not (self._flights or self._session.under_way):
                self._leave_mail()
                self._session.close()
                return None
            await self._hear()

    @property
    def _is_at_work(self) -> bool:
        """Whether another history would have to wait for more than times and what is written."""
        return any(one.is_at_work for name, one in self._flights.items() if name != RECORD)

    def _leave_all(self) -> None:
        """Leave times and mail: whoever goes on waits for the same, and begins what is held."""
        for name in list(self._flights):
            self._drop(name)
        self._leave_mail()

    def _handed_on(self) -> Json:
        run = run_to_json(self.spec, self._backlog.base)
        behind = {"run": run, "length": self.length, "events": [], "lost": self._lost}
        return self.opening | behind | {"versions": self._versions}

    def _leave_mail(self) -> None:
        if self._mail is not None:
            self.engine.drop(self._mail)
            self._mail = None

    def _begin(self) -> None:
        """Begin what is owed, and have written down what nobody else carries."""
        fresh = self._session.take()
        for effect in self._session.void():
            name = effect.key.to_text()
            if (flight := self._flights.get(name)) is not None and flight.effect is effect:
                self._drop(name)
        for effect in fresh:
            if not isinstance(effect, AskHuman):
                self._fly(effect)
        held = {name: flight for name, flight in self._flights.items() if flight.future is None}
        is_held = bool(held) and not self._may_begin(held.values())
        if held and not is_held:
            for name, flight in held.items():
                self._flights[name] = self._flight(flight.effect, tries=flight.tries)
            self._sent = self.length
        is_behind = self._sent < self.length or (self._backlog.happened and not self._flights)
        if self._looks or is_behind or is_held:
            self._record()

    def _fly(self, effect: Effect) -> None:
        name = effect.key.to_text()
        if (flight := self._flights.get(name)) is not None:  # it is under way, of another session
            flight.effect = effect
        elif isinstance(effect, WaitUntil):
            self._flights[name] = _Flight(effect, self.engine.sleep(name, effect.at), 0)
        else:
            self._flights[name] = _Flight(effect, None, 0)

    def _may_begin(self, held: Collection[_Flight]) -> bool:
        """Whether these jobs may begin, each of which carries all that is not written.

        RULE: a history keeps what each job carries. So what adds up is written first, by jobs that
        do nothing else, and one after the other; and so is what was carried in vain, as an engine
        may try such a job again by itself, for as long as the journal is away.
        """
        if any(flight.is_in_vain for flight in held):
            return False
        size, room = self._backlog.size, self.engine.room
        if room is None or not size:
            return True
        return len(held) * size <= room and RECORD not in self._flights

    def _record(self, tries: int = 0) -> None:
        """Have written down what nobody else carries, or as much of it as one job may carry."""
        if RECORD not in self._flights:
            self._flights[RECORD] = flight = self._flight(None, tries=tries)
            self._looks, self._sent = False, max(self._sent, flight.until)

    def _flight(self, effect: Effect | None, *, tries: int = 0) -> _Flight:
        """A job. It carries all that is not known to be written, as others may be late.

        One that only writes carries what fits.
        """
        name = RECORD if effect is None else effect.key.to_text()
        since = self._backlog.length
        carried = self._backlog.fitting(self.engine.room if effect is None else None)
        job: Json = {
            **{what: self.opening[what] for what in WHOSE},
            "at": self.engine.now(),
            "length": since,
            "events": [happening.data for happening in carried],
            "effect": None if effect is None else name,
            "look": effect is None and self._looks,
        }
        future = self.engine.begin(name, job, is_once=isinstance(effect, RunTool))
        return _Flight(effect, future, since + len(carried), tries=tries, at=job["at"])

    def _drop(self, name: str) -> None:
        if (future := self._flights.pop(name).future) is not None:
            self.engine.drop(future)

    async def _hear(self) -> None:
        mail = self._mail = self.engine.hear() if self._mail is None else self._mail
        flights = self._flights.items()
        waited = {name: flight.future for name, flight in flights if flight.future is not None}
        for name in await self.engine.first({MAIL: mail, **waited}):
            if name == MAIL:
                (message, answer), self._mail = mail.result(), None
                is_heard = self._take_message(message)
                if answer is not None:
                    answer.set_result(is_heard)
            elif (flight := self._flights.get(name)) and flight.future is waited[name]:
                self._landed(name, flight)

    def _landed(self, name: str, flight: _Flight) -> None:
        """Take in what came of a job, or that a wait is over."""
        effect = flight.effect
        if isinstance(effect, WaitUntil):
            del self._flights[name]
            now, number = self.engine.now(), self.engine.number()
            self._session.land(effect, ClockTicked(max(now, effect.at), number))
        elif flight.is_pause:  # what it carried is perhaps not written
            self._sent = self._backlog.length
            if effect is None:
                del self._flights[name]
                self._record(flight.tries)
            else:
                held = _Flight(effect, None, 0, tries=flight.tries, is_in_vain=flight.is_in_vain)
                self._flights[name] = held
        else:
            self._settle(name, flight, flight.future.result())

    def _settle(self, name: str, flight: _Flight, outcome: Json) -> None:
        self._follow_by(versions_in(outcome, flight.effect))
        effect = flight.effect  # as it is owed by these
        if name not in self._flights:  # it is owed no longer
            self._backlog.written(flight.until if "report" in outcome else 0)
        elif "missed" in outcome:
            del self._flights[name]
            self._let_begin(effect)
            self._sent = self._backlog.length
            self._rebase(**outcome["missed"])
            if effect is not None and effect.key in self._session.under_way:
                held = _Flight(effect, None, 0, tries=flight.tries)
                self._flights.setdefault(name, held)  # where it was our own that was there
        elif "later" in outcome:
            flight.is_in_vain = not outcome.get("written", False)
            self._backlog.written(0 if flight.is_in_vain else flight.until)
            self._pause(name, flight)
        elif "lost" in outcome:
            assert isinstance(effect, RunTool)  # noqa: S101 - all else is repeated
            del self._flights[name]
            self._sent = self._backlog.length  # perhaps it has written nothing
            lost = ToolLost(effect.ref, effect.attempt, outcome["lost"], self.engine.now())
            self._session.land(effect, lost)
            self._lost[name] = flight.at
            if flight.early is not None:
                self._take_message(flight.early)
        else:
            del self._flights[name]
            self._let_begin(effect)
            self._backlog.written(flight.until)
            if effect is not None and "report" in outcome:
                self._session.land(effect, report_from_json(self.spec, effect, outcome["report"]))
            self._session.feed(*self._events(outcome.get("instead", ())))

    def _let_begin(self, effect: Effect | None) -> None:
        """Let what was begun in vain begin once the journal has been written to for its sake."""
        if effect is None:
            for flight in self._flights.values():
                flight.is_in_vain = False

    def _follow_by(self, versions: Versions) -> None:
        """Go on by these versions of tools, which a worker has, or a host.

        RULE: they come from the history. What was judged of another version fits no longer, and is
        judged anew; no process finds that out by looking at the tools that it has itself.
        """
        new = {name: versions.get(name, version) for name, version in self._versions.items()}
        if new != self._versions:
            run = self.run
            self._versions, self.spec = new, with_versions(self._own, new)
            self._begin_anew(run)

    def _begin_anew(self, run: Run[Any], *still: Event) -> None:
        """Go on with the run as it is now; what is under way, and still owed, stays so."""
        self._session = self._new_session(run)
        self._session.feed(*still)
        owed = {effect.key.to_text() for effect in due(self.spec, self.run)}
        for name in [key for key in self._flights if key != RECORD and key not in owed]:
            self._drop(name)
        self._begin()  # what is under way is so for the new session

    def _pause(self, name: str, flight: _Flight) -> None:
        """A worker could not begin: the journal is away, or another job is to come first."""
        pause_s = min(FIRST_PAUSE_S * 2 ** min(flight.tries, DOUBLINGS), LAST_PAUSE_S)
        future = self.engine.sleep(name, self.engine.now() + pause_s)
        tries = flight.tries + 1
        self._flights[name] = evolve(flight, future=future, is_pause=True, tries=tries)

    def _take_message(self, message: Json) -> bool:
        """Take in what somebody has said; whether it has changed the run."""
        before = self.run
        if message.get("look") and message.get("at") != self.length:
            self._looks = True  # what is written there comes before, or behind, what is known here
            self._follow_by(message.get("versions", NO_VERSIONS))
            return True
        if "never_ran" in message and not self._was_lost(message):
            return False
        with suppress(DetentError):  # it speaks of what is gone, or of nothing
            events = self._events(message["events"])
            if message.get("is_late"):
                events = [event for event, _ in still_heard(self.spec, before, events)]
            self._session.feed(*events)
        is_heard = self.run is not before
        if not is_heard:  # it is about the question as whoever speaks sees it
            self._looks = self._looks or bool(message.get("look"))
            self._follow_by(message.get("versions", NO_VERSIONS))
        return is_heard

    def _was_lost(self, message: Json) -> bool:
        """Whether the job of which its worker says that it never ran is the one that is lost.

        RULE: it says so of this job alone. Another worker may have been given the tool since.
        """
        name, at = message["never_ran"]
        flight = self._flights.get(name)
        if flight is not None and flight.at == at:
            flight.early = message  # an engine says first what people say
        return flight is None and self._lost.get(name) == at

    def _rebase(self, at: int, events: Sequence[Json]) -> None:
        """People have written to the journal: what is not written there comes behind that."""
        still = self._backlog.rebase(self.spec, at, events)
        self._sent = self._backlog.length
        if still is not None:
            self._begin_anew(self._backlog.base, *still)
