"""The inside: a run that is followed in what an engine replays, and never touches the world.

Each effect is a job for the engine, which has some worker perform it and keeps what came of it. Any
process that goes through that history once more makes the same run of it. What happens is written
to the journal as well, for whoever looks: the jobs carry it there.

RULE: everything that differs from one time to another comes from the engine: the time, numbers,
what came of a job, and what was said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeAlias

from attrs import define, field, frozen

from detent.adapters.drivers.session import Session
from detent.adapters.hosts.effects.contract import require_rules, rules_of
from detent.adapters.hosts.effects.stored import report_from_json
from detent.core.control.rebase import is_from_others, rebased, still_heard
from detent.core.errors import DetentError
from detent.core.machine.due import due
from detent.core.machine.step import step
from detent.core.run.effects import AskHuman, Effect, RunTool, WaitUntil
from detent.core.run.events import ClockTicked, Event, ToolLost
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec
from detent.core.storage.journal import event_from_json, event_to_json, run_from_json, run_to_json
from detent.ports.journal import JournalDamagedError

Json: TypeAlias = dict[str, Any]
FIRST_PAUSE_S, LAST_PAUSE_S = 0.1, 30.0
"""After how long a tool that could not be begun is tried again: at first, and at last."""
DOUBLINGS = 10
RECORD = "record"
"""A job that only writes to the journal what has happened."""
MAIL = "mail"


Future: TypeAlias = Any
"""What an engine gives for what it has begun: `result` is what came of it."""


class History(Protocol):
    """What the inside needs of an engine. All of it comes out the same when it is replayed."""

    def now(self) -> float:
        """The time, in seconds since 1970."""
        ...

    def number(self) -> float:
        """By chance, from 0 to 1."""
        ...

    def begin(self, name: str, job: Json, *, is_once: bool) -> Future:
        """Have a worker perform a job; `is_once` says that it must not be begun a second time."""
        ...

    def sleep(self, name: str, until: float) -> Future:
        """Wait for a time."""
        ...

    def hear(self) -> Future:
        """Wait for the next word to the run, and for who wants to know whether it counts."""
        ...

    async def first(self, futures: Mapping[str, Future]) -> Sequence[str]:
        """Wait until one is done, and say which are: always in the same order."""
        ...

    def drop(self, future: Future) -> None:
        """Nobody waits for it any longer."""
        ...

    def is_long(self) -> bool:
        """Whether the history is so long that another one should go on."""
        ...


def new_run(spec: AgentSpec[Any], agent: str, run: Run[Any], length: int) -> Json:
    """What an engine is given when it begins with a run that has so many entries in the journal."""
    stored = run_to_json(spec, run)
    return {
        "agent": agent,
        "rules": rules_of(spec),
        "run_id": run.id,
        "run": stored,
        "length": length,
        "events": [],
    }


@frozen
class _EngineClock:
    engine: History

    def now(self) -> float:
        return self.engine.now()

    def wait(self, until: float, dropped: object) -> None:
        raise AssertionError("the inside waits by the engine")

    async def wait_async(self, until: float) -> None:
        raise AssertionError("the inside waits by the engine")


@frozen
class _Happened:
    """An event that is not known to be in the journal: also as JSON, and the run after it."""

    event: Event
    told: Json
    after: Run[Any]


@define(eq=False)
class _Flight:
    """What the engine is at work on: a job, or the wait before it is begun again."""

    effect: Effect | None
    future: Future
    until: int
    is_pause: bool = False
    tries: int = 0


@define(eq=False)
class Inside:
    """Follows one run to its end, or to where another history is to go on with it.

    Raises:
        AgentChangedError: the run was begun by an agent with other rules.
    """

    spec: AgentSpec[Any]
    given: Json
    engine: History
    _session: Session[Any] = field(init=False)
    _base: Run[Any] = field(init=False)
    _length: int = field(init=False)
    _happened: list[_Happened] = field(init=False, factory=list)
    _sent: int = field(init=False)
    _flights: dict[str, _Flight] = field(init=False, factory=dict)
    _mail: Future | None = field(init=False, default=None)
    _looks: bool = field(init=False, default=False)

    def __attrs_post_init__(self) -> None:
        given = self.given
        require_rules(self.spec, given["agent"], given["run_id"], given["rules"])
        self._base = run_from_json(self.spec, given["run"])
        self._length = self._sent = given["length"]
        self._session = self._new_session(self._base)
        self._session.feed(*[event_from_json(self.spec, one) for one in given["events"]])

    @property
    def run(self) -> Run[Any]:
        """The run as it is."""
        return self._session.run

    @property
    def length(self) -> int:
        """How many entries it has, or will have once all is written."""
        return self._length + len(self._happened)

    def _new_session(self, run: Run[Any]) -> Session[Any]:
        return Session(self.spec, run, clock=_EngineClock(self.engine), record=self._keep)

    def _keep(self, changes: Sequence[tuple[Event, Run[Any]]]) -> None:
        for event, after in changes:
            self._happened.append(_Happened(event, event_to_json(self.spec, event), after))

    async def follow(self) -> Json | None:
        """Follow the run. None says that it has ended; else that is what another history is given.

        All that has happened is in the journal then, but for what is handed on.
        """
        while True:
            if not self._flights and self.engine.is_long() and self.run.outcome is None:
                self._leave_mail()
                return self._handed_on()
            self._begin()
            if not (self._flights or self._session.under_way):
                self._leave_mail()
                self._session.close()
                return None
            await self._hear()

    def _handed_on(self) -> Json:
        run = run_to_json(self.spec, self._base)
        events = [one.told for one in self._happened]
        return self.given | {"run": run, "length": self._length, "events": events}

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
        is_carried = False
        for effect in fresh:
            if not isinstance(effect, AskHuman):
                self._fly(effect)
                is_carried = is_carried or not isinstance(effect, WaitUntil)
        is_behind = self._sent < self.length or (self._happened and not self._flights)
        is_owed = self._looks or (is_behind and not is_carried)
        if is_owed and RECORD not in self._flights:
            self._flights[RECORD] = self._flight(None)
            is_carried, self._looks = True, False
        if is_carried:
            self._sent = self.length

    def _fly(self, effect: Effect) -> None:
        name = effect.key.to_text()
        if (flight := self._flights.get(name)) is not None:  # it is under way, of another session
            flight.effect = effect
        elif isinstance(effect, WaitUntil):
            self._flights[name] = _Flight(effect, self.engine.sleep(name, effect.at), 0)
        else:
            self._flights[name] = self._flight(effect)

    def _flight(self, effect: Effect | None, *, is_whole: bool = False, tries: int = 0) -> _Flight:
        """A job, which carries what no other one does, or all that may not be written yet."""
        name = RECORD if effect is None else effect.key.to_text()
        since = self._length if is_whole or effect is None else max(self._sent, self._length)
        job = {
            **{what: self.given[what] for what in ("agent", "rules", "run_id")},
            "at": self.engine.now(),
            "length": since,
            "events": [one.told for one in self._happened[since - self._length :]],
            "effect": None if effect is None else name,
            "look": effect is None and self._looks,
        }
        future = self.engine.begin(name, job, is_once=isinstance(effect, RunTool))
        return _Flight(effect, future, self.length, tries=tries)

    def _drop(self, name: str) -> None:
        self.engine.drop(self._flights.pop(name).future)

    async def _hear(self) -> None:
        mail = self._mail = self.engine.hear() if self._mail is None else self._mail
        waited = {name: flight.future for name, flight in self._flights.items()}
        for name in await self.engine.first({MAIL: mail, **waited}):
            if name == MAIL:
                (said, answer), self._mail = mail.result(), None
                is_heard = self._said(said)
                if answer is not None:
                    answer.set_result(is_heard)
            elif name in self._flights:
                self._landed(name, self._flights[name])

    def _landed(self, name: str, flight: _Flight) -> None:
        """Take in what came of a job."""
        effect, came = flight.effect, flight.future.result()
        if isinstance(effect, WaitUntil):
            del self._flights[name]
            now, number = self.engine.now(), self.engine.number()
            self._session.land(effect, ClockTicked(max(now, effect.at), number))
        elif flight.is_pause:
            self._flights[name] = self._flight(effect, is_whole=True, tries=flight.tries)
        elif "missed" in came:
            del self._flights[name]
            self._sent = self._length
            self._rebase(**came["missed"])
            if effect is not None and effect.key in self._session.under_way:
                self._flights.setdefault(name, flight)
                if self._flights[name] is flight:  # it was our own that was there
                    self._pause(name, flight)
        elif "later" in came:
            self._pause(name, flight)
        elif "lost" in came:
            assert isinstance(effect, RunTool)  # noqa: S101 - all else is repeated
            del self._flights[name]
            self._sent = self._length  # perhaps it has written nothing
            lost = ToolLost(effect.ref, effect.attempt, came["lost"], self.engine.now())
            self._session.land(effect, lost)
        else:
            del self._flights[name]
            self._written(flight.until)
            if effect is not None:
                self._session.land(effect, report_from_json(self.spec, effect, came["report"]))

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

    def _said(self, said: Json) -> bool:
        """Take in what somebody has said; whether it has changed the run."""
        before = self.run
        if said.get("look"):
            self._looks = True
            return True
        with suppress(DetentError):  # it speaks of what is gone, or of nothing
            events = [event_from_json(self.spec, one) for one in said["events"]]
            if said.get("is_late"):
                events = [event for event, _ in still_heard(self.spec, before, events)]
            self._session.feed(*events)
        return self.run is not before

    def _rebase(self, at: int, events: Sequence[Json]) -> None:
        """People have written to the journal itself: what is not written there comes behind that.

        RULE: nobody but people writes there. What another driver has begun, nobody here may begin.
        """
        theirs = list(events[max(0, self._length - at) :])  # of the rest it has been heard already
        self._written(at)
        while theirs and self._happened and self._happened[0].told == theirs[0]:
            self._written(self._length + 1)
            del theirs[0]
        heard = [event_from_json(self.spec, one) for one in theirs]
        if not heard:
            return
        if not all(map(is_from_others, heard)):
            raise JournalDamagedError(
                f"another driver has written to run {self.run.id!r}, which an engine drives by its "
                "effects: give hosts of another kind another store"
            )
        own, run = [one.event for one in self._happened], self._base
        for event in heard:
            run = step(self.spec, run, event)
        self._base, self._length, self._happened = run, self._length + len(heard), []
        self._session = self._new_session(run)
        still = [one for before, one, after in rebased(self.spec, run, own) if after is not before]
        self._session.feed(*still)
        self._sent = self._length
        owed = {effect.key.to_text() for effect in due(self.spec, self.run)}
        for name in [one for one in self._flights if one != RECORD and one not in owed]:
            self._drop(name)
        self._begin()  # what is under way is so for the new session
