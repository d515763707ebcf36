"""The inside: a run that is followed in what an engine replays, and never touches the world.

Each effect is a job for the engine, which has some worker perform it and keeps what came of it. Any
process that goes through that history once more makes the same run of it. What happens is written
to the journal as well, for whoever looks: the jobs carry it there.

RULE: everything that differs from one time to another comes from the engine: the time, numbers,
what came of a job, and what was said.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from attrs import define, field

from detent.adapters.drivers.session import Session
from detent.adapters.hosts.effects.contract import WHOSE, require_rules
from detent.adapters.hosts.effects.history import EngineClock, Future, History, Json
from detent.adapters.hosts.effects.stored import report_from_json
from detent.adapters.hosts.effects.unwritten import Happened, fitting, total
from detent.adapters.hosts.effects.versions import (
    NO_VERSIONS,
    Versions,
    versions_in,
    with_versions,
)
from detent.core.control.rebase import is_from_others, rebase, still_heard
from detent.core.errors import DetentError
from detent.core.machine.due import due
from detent.core.machine.step import step
from detent.core.run.effects import AskHuman, Effect, RunTool, WaitUntil
from detent.core.run.events import ClockTicked, Event, ToolLost
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec
from detent.core.storage.journal import event_from_json, event_to_json, run_from_json, run_to_json
from detent.ports.journal import JournalDamagedError

FIRST_PAUSE_S, LAST_PAUSE_S = 0.1, 30.0
"""After how long a tool that could not be begun is tried again: at first, and at last."""
DOUBLINGS = 10
RECORD = "record"
"""A job that only writes to the journal what has happened."""
MAIL = "mail"


@define(eq=False)
class _Flight:
    """What the engine is at work on: a job, or the wait before it is begun again.

    Without a `future` it is held until what is to be written before it fits into a job. `at` is
    when the job was given, which tells it from others of the same effect; `early` is that its
    worker has said that it never ran, before it is known here that the worker was given up.
    """

    effect: Effect | None
    future: Future
    until: int
    is_pause: bool = False
    tries: int = 0
    at: float = 0.0
    early: Json | None = None


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
    _base: Run[Any] = field(init=False)
    _length: int = field(init=False)
    _happened: list[Happened] = field(init=False, factory=list)
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
        self._base = run_from_json(self.spec, opening["run"])
        self._length = self._sent = opening["length"]
        self._lost = dict(opening.get("lost", {}))
        self._session = self._new_session(self._base)
        self._session.feed(*self._events(opening["events"]))

    @property
    def run(self) -> Run[Any]:
        """The run as it is."""
        return self._session.run

    @property
    def length(self) -> int:
        """How many entries it has, or will have once all is written."""
        return self._length + len(self._happened)

    def _new_session(self, run: Run[Any]) -> Session[Any]:
        return Session(self.spec, run, clock=EngineClock(self.engine), record=self._keep)

    def _events(self, data: Sequence[Json]) -> list[Event]:
        return [event_from_json(self.spec, one) for one in data]

    def _keep(self, changes: Sequence[tuple[Event, Run[Any]]]) -> None:
        for event, after in changes:
            self._happened.append(Happened(event, event_to_json(self.spec, event), after))

    async def follow(self) -> Json | None:
        """Follow the run. None says that it has ended; else that is what another history is given.

        All that has happened is in the journal then.
        """
        while True:
            if not self._is_at_work and self.engine.is_long() and self.run.outcome is None:
                if not self._happened and RECORD not in self._flights:
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
        effects = (flight.effect for name, flight in self._flights.items() if name != RECORD)
        return any(not isinstance(effect, WaitUntil) for effect in effects)

    def _leave_all(self) -> None:
        """Leave times and mail: whoever goes on waits for the same times."""
        for name in list(self._flights):
            self._drop(name)
        self._leave_mail()

    def _handed_on(self) -> Json:
        run = run_to_json(self.spec, self._base)
        behind = {"run": run, "length": self._length, "events": [], "lost": self._lost}
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
        is_held = bool(held) and not self._fits(len(held))
        if held and not is_held:
            for name, flight in held.items():
                self._flights[name] = self._flight(flight.effect, tries=flight.tries)
            self._sent = self.length
        is_behind = self._sent < self.length or (self._happened and not self._flights)
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

    def _fits(self, count: int) -> bool:
        """Whether so many jobs may carry what has happened, as each of them carries all of it.

        RULE: what adds up is written first, by jobs that do nothing else, and one after the other.
        """
        room = self.engine.room
        if room is None:
            return True
        unsent = total(self._happened[max(0, self._sent - self._length) :])
        is_written_soon = RECORD not in self._flights or total(self._happened) <= room
        return count * unsent <= room and is_written_soon

    def _record(self, tries: int = 0) -> None:
        """Have written down what nobody else carries, or as much of it as one job may carry."""
        if RECORD not in self._flights:
            self._flights[RECORD] = flight = self._flight(None, tries=tries)
            self._looks, self._sent = False, max(self._sent, flight.until)

    def _flight(self, effect: Effect | None, *, tries: int = 0) -> _Flight:
        """A job, which carries what no other one does; one that only writes begins at the front."""
        name = RECORD if effect is None else effect.key.to_text()
        since = self._length if effect is None else max(self._sent, self._length)
        carried = self._happened[since - self._length :]
        if effect is None and self.engine.room is not None:
            carried = fitting(carried, self.engine.room)
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
            elif name in self._flights:
                self._landed(name, self._flights[name])

    def _landed(self, name: str, flight: _Flight) -> None:
        """Take in what came of a job, or that a wait is over."""
        effect = flight.effect
        if isinstance(effect, WaitUntil):
            del self._flights[name]
            now, number = self.engine.now(), self.engine.number()
            self._session.land(effect, ClockTicked(max(now, effect.at), number))
        elif flight.is_pause:  # what it carried is perhaps not written
            self._sent = self._length
            if effect is None:
                del self._flights[name]
                self._record(flight.tries)
            else:
                self._flights[name] = _Flight(effect, None, 0, tries=flight.tries)
        else:
            self._settle(name, flight, flight.future.result())

    def _settle(self, name: str, flight: _Flight, outcome: Json) -> None:
        self._follow_by(versions_in(outcome, flight.effect))
        effect = flight.effect  # as it is owed by these
        if name not in self._flights:  # it is owed no longer
            self._written(flight.until if "report" in outcome else 0)
        elif "missed" in outcome:
            del self._flights[name]
            self._sent = self._length
            self._rebase(**outcome["missed"])
            if effect is not None and effect.key in self._session.under_way:
                self._flights.setdefault(name, flight)
                if self._flights[name] is flight:  # it was our own that was there
                    self._pause(name, flight)
        elif "later" in outcome:
            self._pause(name, flight)
        elif "lost" in outcome:
            assert isinstance(effect, RunTool)  # noqa: S101 - all else is repeated
            del self._flights[name]
            self._sent = self._length  # perhaps it has written nothing
            lost = ToolLost(effect.ref, effect.attempt, outcome["lost"], self.engine.now())
            self._session.land(effect, lost)
            self._lost[name] = flight.at
            if flight.early is not None:
                self._take_message(flight.early)
        else:
            del self._flights[name]
            self._written(flight.until)
            if effect is not None and "report" in outcome:
                self._session.land(effect, report_from_json(self.spec, effect, outcome["report"]))
            self._session.feed(*self._events(outcome.get("instead", ())))

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
        self._flights[name] = _Flight(flight.effect, future, 0, is_pause=True, tries=tries)

    def _written(self, until: int) -> None:
        """The journal has so many entries at least."""
        if (count := until - self._length) > 0:
            self._base = self._happened[count - 1].after
            del self._happened[:count]
            self._length = until

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
        """People have written to the journal itself: what is not written there comes behind that.

        RULE: nobody but people writes there. What another driver has begun, nobody here may begin.
        """
        theirs = list(events[max(0, self._length - at) :])  # of the rest it has been heard already
        self._written(at)
        while theirs and self._happened and self._happened[0].data == theirs[0]:
            self._written(self._length + 1)
            del theirs[0]
        news = self._events(theirs)
        if not news:
            return
        if not all(map(is_from_others, news)):
            raise JournalDamagedError(
                f"another driver has written to run {self.run.id!r}, which an engine drives by its "
                "effects: give hosts of another kind another store"
            )
        own, run = self._unwritten(theirs), self._base
        for event in news:
            run = step(self.spec, run, event)
        self._base, self._length, self._happened = run, self._length + len(news), []
        still = [
            event for before, event, after in rebase(self.spec, run, own) if after is not before
        ]
        self._sent = self._length
        self._begin_anew(run, *still)

    def _unwritten(self, theirs: Sequence[Json]) -> list[Event]:
        """What has happened here and is not among what others have written.

        RULE: what people say is written before it is heard, so that it is there, or is yet to be
        found there. Heard once more, a message would be read twice.
        """
        own, left = list[Event](), list(theirs)
        for happening in self._happened:
            if happening.data in left:
                left.remove(happening.data)
            else:
                own.append(happening.event)
        return own
